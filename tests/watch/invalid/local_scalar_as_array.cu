// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 2]}
// expect: invalid-access error line 4 variable x
__device__ __noinline__ int last(const int *p, int n) {
    return p[n - 1];
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x], y = 4;
    out[threadIdx.x] = last(&x, n) + last(&y, 1);
}
