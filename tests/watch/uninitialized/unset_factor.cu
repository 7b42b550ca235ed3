// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 5 variable scale
extern "C" __global__ void k(const int *in, int *out, int n) {
    int scale;
    out[threadIdx.x] = scale * in[threadIdx.x];
    scale = n;
    out[threadIdx.x] += scale;
}
