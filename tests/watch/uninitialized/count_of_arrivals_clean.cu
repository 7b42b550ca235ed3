// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
#include <cuda/barrier>
extern "C" __global__ void k(const float *a, float *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  __shared__ float s[64];
  if (threadIdx.x == 0) init(&full, 64);
  __syncthreads();
  s[threadIdx.x] = a[threadIdx.x];
  int count = 1;
  if (a[0] > 1e9f)
    count = 1;
  full.wait(full.arrive(count));
  out[threadIdx.x] = s[63 - threadIdx.x];
}
