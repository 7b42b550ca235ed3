// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/barrier>
#include <cuda/std/utility>
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) init(&bar, 96);
  __syncthreads();
  s[t] = x[t];
  if (t < 32) (void)bar.arrive();
  auto token = bar.arrive();
  bar.wait(cuda::std::move(token));
  y[t] = s[63 - t];
}
