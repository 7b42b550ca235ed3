// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 64, "out"]]}
// expect: race error line 13 hazard WAR variable b
// expect: race error line 17 hazard RAW variable b
// first: race line 13 hazard WAR variable b
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float *x, float *y) {
  __shared__ float b[2][64];
  int t = threadIdx.x;
  float sum = 0;
  __pipeline_memcpy_async(&b[0][t], &x[t], 4);
  __pipeline_commit();
  for (int k = 0; k < 8; ++k) {
    if (k < 7) __pipeline_memcpy_async(&b[(k + 1) % 2][t], &x[(k + 1) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += b[k % 2][63 - t];
  }
  y[t] = sum;
}
