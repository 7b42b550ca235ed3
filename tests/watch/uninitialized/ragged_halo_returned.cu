// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 200], ["float32", 200, "out"], 200]}
// expect: uninitialized-read error line 11 variable s
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float s[66];
  int i = blockIdx.x * 64 + threadIdx.x;
  if (i >= n) return;
  s[threadIdx.x + 1] = in[i];
  if (threadIdx.x == 0) s[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == 63) s[65] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  out[i] = s[threadIdx.x] + s[threadIdx.x + 1] + s[threadIdx.x + 2];
}
