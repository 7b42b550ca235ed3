// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 9 variable scale
// expect: uninitialized-read error line 10 variable bias
extern "C" __global__ void k(const int *in, int *out, int n) {
    int \
scale \
    ; float bias\
;
    int x = in[threadIdx.x] * scale;
    out[threadIdx.x] = x + bias;
}
