// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error
__device__ __noinline__ float meet(float *s, int t, float x) {
  s[t] = x;
  __syncthreads();
  return s[t];
}
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (in[t] != -1e30f && t < 32) out[t] = meet(s, t, in[t]);
  __syncthreads();
  if (t >= 32) out[t] = meet(s, t, in[t]);
  else __syncthreads();
}
