// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
template <int K> __device__ __noinline__ int sum_of(const int *in) {
    int a[K], s = 0;
    for (int i = 0; i < K; ++i) a[i] = in[i];
    s += a[0];
    if (K > 3) s += a[3];
    s += K > 4 ? a[4] : a[1];
    s += a[3 % K] + a[2];
    if constexpr (K > 4) { s -= a[4]; }
    for (int i = 4; i < K; ++i) s += a[4];
    while (K > 5) { s += a[5]; break; }
    return s + a[K > 4 ? 4 : 2];
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    out[threadIdx.x] = sum_of<3>(in) + sum_of<8>(in);
}
