// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float16", 256], ["float16", 256], ["float32", 256, "out"]]}
// expect: race error line 12 hazard RAW variable s
#include <cuda_fp16.h>
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const half *a, const half *b, float *c) {
  __shared__ __align__(16) half s[256];
  int t = threadIdx.x;
  for (int i = 0; i < 8; i++) s[t * 8 + i] = a[t * 8 + i];
   
  unsigned x0, x1, x2, x3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" 
               : "=r"(x0), "=r"(x1), "=r"(x2), "=r"(x3) : "r"(at(s + t * 8)));
  c[t] = x0 ^ x1; c[t + 32] = x2 ^ x3;
  for (int i = t + 64; i < 256; i += 32) c[i] = 0;
}
