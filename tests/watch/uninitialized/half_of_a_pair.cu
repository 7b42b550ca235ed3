// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 9 variable s
#include <cuda_fp16.h>
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ __half2 s[64];
  int t = threadIdx.x;
  s[t].x = __float2half(in[t]);
  __syncthreads();
  float2 v = __half22float2(s[63 - t]);
  out[t] = v.x + v.y;
}
