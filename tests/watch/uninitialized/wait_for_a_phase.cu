// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 13
#include <cuda/barrier>
#include <cuda/std/chrono>
extern "C" __global__ void k(const float *a, float *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  __shared__ float s[64];
  if (threadIdx.x == 0) init(&full, 64);
  __syncthreads();
  s[threadIdx.x] = a[threadIdx.x];
  auto token = full.arrive();
  bool odd; if (a[0] > 1e9f) odd = false;
  while (!full.try_wait_parity_for(odd, cuda::std::chrono::microseconds(100))) {}
  out[threadIdx.x] = s[63 - threadIdx.x];
}
