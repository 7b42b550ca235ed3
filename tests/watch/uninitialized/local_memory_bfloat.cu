// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 8 variable sum
#include <cuda_bf16.h>
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  __nv_bfloat16 sum;
  for (int i = 0; i < 8; ++i)
    sum = sum + __float2bfloat16(in[at + i]);
  out[at] = __bfloat162float(sum);
}
