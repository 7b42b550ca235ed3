// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *in, int *out) {
    int t = threadIdx.x, v;
    if (t < 16) v = __shfl_sync(0x0000ffff, in[t], 0);
    else v = __shfl_sync(0x0000ffff, in[t], 0);
    out[t] = v;
}
