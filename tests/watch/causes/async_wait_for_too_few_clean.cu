// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 384], ["float32", 64, "out"]]}
// expect: clean
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float b[3][64];
  int t = threadIdx.x;
  float a = 0;
  for (int i = 0; i < 2; i++) {
    __pipeline_memcpy_async(&b[i][t], in + i * 64 + t, 4);
    __pipeline_commit();
  }
  for (int i = 0; i < 6; i++) {
    __pipeline_wait_prior(1);
    __syncthreads();
    if (i + 2 < 6) __pipeline_memcpy_async(&b[(i + 2) % 3][t], in + (i + 2) * 64 + t, 4);
    __pipeline_commit();
    a += b[i % 3][63 - t];
  }
  out[t] = a;
}
