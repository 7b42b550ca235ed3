// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 4]}
// expect: clean
__device__ __noinline__ void fill(int *p, int n) {
    for (int i = 0; i < n; ++i) p[i] = i;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[4] = {5, 6, 7, 8};
    fill(a, n);
    out[threadIdx.x] = a[in[threadIdx.x] & 3] + b[0];
}
