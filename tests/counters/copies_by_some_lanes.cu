// launch: {"kernel": "copies_by_some_lanes", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 1024], ["float32", 128, "out"]]}
#include <cuda_pipeline.h>
extern "C" __global__ void copies_by_some_lanes(const float4 *in, float *out) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  s[t] = make_float4(0, 0, 0, 0);
  __syncthreads();
  if (t % 4 == 1) __pipeline_memcpy_async(s + t, in + blockIdx.x * 128 + 2 * t, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[t ^ 1].y;
}
