// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "zero"], 20]}
// expect: clean
#include <cuda_fp16.h>
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  float4 p;
  p.x = in[at];
  p.y = 1;
  p.z = 2;
  float unset;
  float2 q = make_float2(p.x, unset);
  float4 copy = p;
  __half h;
  if (t < n) h = __float2half(p.x);
  __half2 pair = __halves2half2(__float2half(1.0f), h);
  out[at] = copy.z + q.x + __low2float(pair);
}
