// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ __noinline__ int f(int n) { return n <= 0 ? 0 : f(n - 9) + n; }
extern "C" __global__ void k(const int *in, int *out) {
  out[threadIdx.x] = f(in[threadIdx.x]);
}
