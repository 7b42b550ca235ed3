// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/barrier>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ barrier full[2], empty[2];
  __shared__ int s[2][32];
  int t = threadIdx.x;
  if (t == 0)
    for (int k = 0; k < 2; k++) {
      init(&full[k], 96);
      init(&empty[k], 96);
    }
  __syncthreads();
  if (t < 32) {
    for (int c = 0; c < 4; c++) {
      empty[c % 2].arrive_and_wait();
      s[c % 2][t] = x[c * 16 + t % 16];
      auto token = full[c % 2].arrive();
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 2; k++) auto token = empty[k].arrive();
    for (int c = 0; c < 4; c++) {
      full[c % 2].arrive_and_wait();
      for (int j = 0; j < 32; j++) sum += s[c % 2][j];
      auto token = empty[c % 2].arrive();
    }
    y[t - 32] = sum;
  }
}
