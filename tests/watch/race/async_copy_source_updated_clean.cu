// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"], ["int32", 64, "out"]]}
// expect: clean
#include <cuda_pipeline.h>
extern "C" __global__ void k(const int *in, int *data, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  data[t] = in[t];
  __pipeline_memcpy_async(&s[t], &data[t], 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  atomicAdd(&data[t], 1);
  __syncthreads();
  out[t] = s[63 - t];
}
