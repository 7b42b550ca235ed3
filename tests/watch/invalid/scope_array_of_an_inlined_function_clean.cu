// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Four { int a[4]; };
__device__ __forceinline__ Four filled(int x) {
    Four r;
    for (int i = 0; i < 4; i++) r.a[i] = x + i;
    return r;
}
__device__ __forceinline__ const int &larger(const int &a, const int &b) { return a < b ? b : a; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    const Four &f = filled(in[threadIdx.x]);
    Four g = filled(n);
    const int *p = f.a, &most = filled(2).a[n & 3];
    const int &x = n * 2;
    int kept = larger(in[threadIdx.x] * 2, 1);
    out[threadIdx.x] = p[threadIdx.x & 3] + g.a[n & 3] + f.a[n & 1] + most + x + kept;
}
