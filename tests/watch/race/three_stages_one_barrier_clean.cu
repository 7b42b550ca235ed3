// launch: {"kernel": "pipe", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 64, "out"]]}
// expect: clean
#include <cuda_pipeline.h>
extern "C" __global__ void pipe(const float *x, float *y) {
  __shared__ float buf[3][64];
  int t = threadIdx.x;
  for (int k = 0; k < 2; ++k) {
    __pipeline_memcpy_async(&buf[k][t], &x[k * 64 + t], 4);
    __pipeline_commit();
  }
  float sum = 0;
  for (int k = 0; k < 10; ++k) {
    if (k + 2 < 10) __pipeline_memcpy_async(&buf[(k + 2) % 3][t], &x[(k + 2) * 64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(2);
    __syncthreads();
    sum += buf[k % 3][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}
