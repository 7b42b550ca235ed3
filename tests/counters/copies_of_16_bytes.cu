// launch: {"kernel": "copies_of_16_bytes", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 512, "out"]]}
#include <cuda_pipeline.h>
extern "C" __global__ void copies_of_16_bytes(const float *in, float *out) {
  __shared__ alignas(16) float s[256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(s + 4 * t, in + blockIdx.x * 256 + 4 * t, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  for (int k = 0; k < 4; k++) out[blockIdx.x * 256 + k * 64 + t] = s[(k * 64 + t * 5) % 256];
}
