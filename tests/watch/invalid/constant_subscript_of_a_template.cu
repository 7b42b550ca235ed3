// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 6 variable a
template <int K> __device__ __noinline__ int sum_of(const int *in) {
    int a[K], s = 0, b[K];
    for (int i = 0; i < K; ++i) a[i] = b[i] = in[i];
    a[K] = s;
    return s + a[s & 1] + b[s & 1];
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    out[threadIdx.x] = sum_of<3>(in) + sum_of<5>(in);
}
