// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 10 variable a
__device__ __forceinline__ int *filled(int x) {
    int a[4];
    for (int i = 0; i < 4; i++) a[i] = x + i;
    return a;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int *p = filled(in[threadIdx.x]);
    out[threadIdx.x] = p[threadIdx.x & 3];
}
