// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    unsigned mask = 0xffffffff;
    int v = in[threadIdx.x];
    v += __shfl_down_sync(mask, v, 1);
    out[threadIdx.x] = v;
}
