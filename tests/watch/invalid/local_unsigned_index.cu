// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 0]}
// expect: invalid-access error line 5 variable a
extern "C" __global__ void k(const int *in, int *out, unsigned n) {
    int a[4] = {1, 2, 3, 4};
    out[threadIdx.x] = a[n - 1 + (in[0] & 0)];
}
