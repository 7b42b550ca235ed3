// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 6 variable s
__device__ __noinline__ float total(const float *in, int n) {
  float s;
  for (int i = 0; i < n; ++i)
    s = s + in[i];
  return s;
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  out[at] = total(in, n);
}
