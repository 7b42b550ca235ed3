// launch: {"kernel": "copies_of_4_bytes", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 128, "out"]]}
#include <cuda_pipeline.h>
extern "C" __global__ void copies_of_4_bytes(const float *in, float *out) {
  __shared__ float s[64][3];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[t][1], in + blockIdx.x * 256 + 4 * t, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[63 - t][1];
}
