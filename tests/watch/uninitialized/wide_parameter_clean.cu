// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
struct Wide { int a[40]; };
__device__ __noinline__ int element(Wide w, int k) { return w.a[k]; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    Wide w;
    for (int i = 0; i < 32; ++i) w.a[i] = in[i];
    out[threadIdx.x] = element(w, threadIdx.x) + n;
}
