// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float64", 64, "out"], ["float32", 32, "out"]]}
// expect: clean
#include <cuda_pipeline.h>
struct __align__(16) Item { double d; float f; };
extern "C" __global__ void k(const float *in, Item *items, float *out) {
  __shared__ Item s[32];
  int t = threadIdx.x;
  items[t].d = in[t]; items[t].f = in[t];
  __pipeline_memcpy_async(&s[t], &items[t], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[t] = s[31 - t].d + s[31 - t].f;
}
