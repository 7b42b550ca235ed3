// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: uninitialized-read error line 8
extern "C" __global__ void k(const int *in, int *out) {
    int t = threadIdx.x;
    int v;
    if (t & 1) v = in[t];
    int w = __shfl_xor_sync(~0u, v, 1);
    if (t & 1) out[t] = w;
    else out[t] = w;
}
