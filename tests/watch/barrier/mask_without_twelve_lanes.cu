// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *in, int *out) {
    unsigned mask = (1u << in[0] % 1 + 20) - 1;
    int v = in[threadIdx.x];
    v += __shfl_down_sync(mask, v, 1);
    out[threadIdx.x] = v;
}
