// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 2, "out"]]}
// expect: barrier-divergence error line 10
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2)
    if (threadIdx.x < d) {
      s[threadIdx.x] += s[threadIdx.x + d];
      __syncthreads();
    }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}
