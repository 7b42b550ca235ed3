// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float64", 64, "out"], ["float32", 32, "out"]]}
// expect: uninitialized-read error line 10 variable v
#include <cuda_pipeline.h>
struct Item { double d; float f; };
extern "C" __global__ void k(const float *in, Item *items, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  float v;
  if (t < 8) v = in[t];
  s[t] = v;
  __syncthreads();
  if (t < 8) out[t] = s[t];
  __syncthreads();
  if (t != 20) __pipeline_memcpy_async(&s[t], &in[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();

  out[t] = s[31 - t];
}
