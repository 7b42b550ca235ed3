// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 6 variable own
// expect: invalid-access error line 7 variable own
__device__ __forceinline__ int total(const int *v, int n) {
    int own[4], s = 0, *p = own;
    for (int i = 0; i < n; ++i) *p++ = v[i];
    while (p != own) s += *--p;
    return s;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[5] = {1, 2, 3, 4, 5}, b[4] = {in[threadIdx.x], 1, 1, 1};
    out[threadIdx.x] = total(a, n) + total(b, 4);
}
