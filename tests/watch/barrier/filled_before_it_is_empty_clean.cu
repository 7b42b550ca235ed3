// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  if (t < 64) {
    for (int k = 0; k < 8; ++k) {
      if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + k % 2) : "memory");
      s[k % 2][t] = x[k * 64 + t];
      asm volatile("barrier.cta.arrive %0, 128;" ::"r"(1 + k % 2) : "memory");
    }
  } else {
    for (int k = 0; k < 8; ++k) {
      asm volatile("bar.sync %0, 128;" ::"r"(1 + k % 2) : "memory");
      sum += s[k % 2][t - 64];
      if (k + 2 < 8) asm volatile("barrier.cta.arrive %0, 128;" ::"r"(3 + k % 2) : "memory");
    }
    y[t - 64] = sum;
  }
}
