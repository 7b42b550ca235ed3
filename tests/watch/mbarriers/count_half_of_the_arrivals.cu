// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: barrier-divergence error line 10 variable bar
// expect: race error line 16 variable s
// first: barrier-divergence line 10
#include <cuda/barrier>
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) init(&bar, 32);
  __syncthreads();
  int v = x[t];
  for (int k = 0; k < 2; ++k) {
    s[t] = v;
    bar.arrive_and_wait();
    v += s[63 - t];
    bar.arrive_and_wait();
  }
  y[t] = v;
}
