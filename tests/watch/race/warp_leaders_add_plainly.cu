// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 1, "out"]]}
// expect: race error line 9 variable sum
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  float v = in[threadIdx.x];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) sum += v;
  __syncthreads();
  if (threadIdx.x == 0) *out = sum;
}
