// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean


#include <cuda_awbarrier_primitives.h>
extern "C" __global__ void k(const float *a, float *out) {
  __shared__ __mbarrier_t full;
  __shared__ float s[64];
  const int x = threadIdx.x;
  if (x == 0) { full = 64; __mbarrier_init(&full, 64); }
  __syncthreads();
  s[x] = a[x];
  __syncthreads();
  __mbarrier_arrive(&full);
  out[x] = s[63 - x];
}
