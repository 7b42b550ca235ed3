// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence warning line 16 variable s


#include <cuda_awbarrier_primitives.h>
extern "C" __global__ void k(const float *a, float *out) {
  __shared__ alignas(8) float s[64];
  __mbarrier_t *full = (__mbarrier_t *)s;
  const int x = threadIdx.x;
  if (x == 0) __mbarrier_init(full, 64);
  __syncthreads();
  auto token = __mbarrier_arrive(full);
  while (!__mbarrier_test_wait(full, token)) {}
  __syncthreads();

  s[x] = a[x];
  __syncthreads();
  out[x] = s[63 - x];
}
