// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 6 variable a
__device__ __noinline__ int *skip(int *p, int n) { return p + n; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    out[threadIdx.x] = *skip(a, n) + b[in[threadIdx.x] & 3];
}
