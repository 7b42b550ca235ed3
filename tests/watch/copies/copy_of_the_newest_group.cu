// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error line 13 hazard RAW variable s
#include <cuda_pipeline.h>
#include <cuda/barrier>
extern "C" __global__ void k(const float *in, float *out) {
  alignas(16) __shared__ float s[2][256];
  int t = threadIdx.x;
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&s[i][4 * t], in + 4 * t, 16);
    __pipeline_commit();
  }
  __pipeline_wait_prior(1);
  out[t] = s[1][4 * t];
}
