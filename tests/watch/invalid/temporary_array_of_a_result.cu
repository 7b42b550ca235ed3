// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 7
struct Three { int a[3]; };
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    const int *p = three(in[threadIdx.x]).a;
    out[threadIdx.x] = p[n & 1] * 2;
}
