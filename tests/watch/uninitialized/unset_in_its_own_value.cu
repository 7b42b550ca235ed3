// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: uninitialized-read error line 4 variable sum
extern "C" __global__ void k(const int *in, int *out, int n) {
    int sum = sum + in[threadIdx.x];
    out[threadIdx.x] = sum;
}
