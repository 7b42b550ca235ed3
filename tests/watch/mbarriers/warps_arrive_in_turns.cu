// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 22 variable last
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ barrier full;
  __shared__ int s[32], last;
  int t = threadIdx.x;
  if (t == 0) init(&full, 32);
  if (t == 0) last = 0;
  __syncthreads();
  for (int c = 0; c < 3; c++) {
    if (t / 32 == c % 2) {
      s[t % 32] = x[t] + c;
      auto token = full.arrive();
    }
    full.wait_parity(c % 2);
    y[t] = s[31 - t % 32];
    __syncthreads();
  }
  if (t == 3) last = x[3];
  y[t] += last;
}
