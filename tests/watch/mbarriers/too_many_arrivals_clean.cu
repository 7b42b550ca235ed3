// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean

#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const float *a, float *out) {
  __shared__ barrier full;
  __shared__ float s[64];
  const int x = threadIdx.x;
  if (x == 0) init(&full, (1 << 20) - 1);
  __syncthreads();
  s[x] = a[x];
  __syncthreads();
  if (a[x] > 1e9f) full.arrive_and_wait();
  out[x] = s[63 - x];
}
