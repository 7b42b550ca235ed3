// launch: {"kernel": "pipe", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 64, "out"]]}
// expect: race error line 8 hazard WAR variable buf
#include <cuda_pipeline.h>
extern "C" __global__ void pipe(const float *x, float *y) {
  __shared__ __align__(16) float buf[4][64];
  int t = threadIdx.x;
  auto load = [&](int k) {
    if (k < 10 && t < 16) __pipeline_memcpy_async(&buf[k & 3][4 * t], &x[k * 64 + 4 * t], 16);
    __pipeline_commit();
  };
  load(0); load(1); load(2);
  float sum = 0;
  for (int k = 0; k < 10; ++k) {
      load(k + 3);
__pipeline_wait_prior(3);
    __syncthreads();
    sum += buf[k & 3][63 - t];
  }
  y[t] = sum;
}
