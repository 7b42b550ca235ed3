// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 3]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, c[4] = {1, 1, 1, 1};
    int *p = n + in[threadIdx.x] * 0 < 3 ? a : b;
    out[threadIdx.x] = p[n] + c[0];
}
