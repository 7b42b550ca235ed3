// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 13 variable last
#include <cuda_fp16.h>
__device__ float twice(__half x) {
  float y = __half2float(x);
  return y + y;
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  __half last;
  for (int i = 0; i < 8; ++i)
    if (in[at + i] > 1e30f) last = __float2half(in[at + i]);
  out[at] = twice(last);
}
