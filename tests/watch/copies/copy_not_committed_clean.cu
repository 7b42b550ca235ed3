// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
#include <cuda_pipeline.h>
#include <cuda/barrier>
extern "C" __global__ void k(const float *in, float *out) {
  alignas(16) __shared__ float s[2][256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&s[0][4 * t], in + 4 * t, 16);
  asm volatile("cp.async.wait_all;" : : : "memory");  // of copies in no group, too
  out[t] = s[0][4 * t];
}
