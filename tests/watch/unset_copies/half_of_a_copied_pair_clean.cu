// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32, "out"]]}
// expect: clean
#include <cuda_fp16.h>
extern "C" __global__ void k(float *out) {
  __shared__ __half2 s[32];
  int t = threadIdx.x;
  s[t].x = __float2half((float)t);
  __syncthreads();
  __half2 v = s[31 - t];
  out[t] = __low2float(v);
}
