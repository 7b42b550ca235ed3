// launch: {"kernel": "pipe", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 64, "out"]]}
// expect: clean
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
    __pipeline_wait_prior(2);
    __syncthreads();
    load(k + 3);
    sum += buf[k & 3][63 - t];
  }
  y[t] = sum;
}
