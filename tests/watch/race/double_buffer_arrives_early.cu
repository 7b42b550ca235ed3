// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 512], ["int32", 64, "out"]]}
// expect: race error hazard RAW variable buf
#define SYNC(id) asm volatile("bar.sync %0, 96;" :: "r"(id) : "memory")
#define ARRIVE(id) asm volatile("bar.arrive %0, 96;" :: "r"(id) : "memory")
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int buf[2][64];
  int t = threadIdx.x;
  if (t < 32) {
    for (int k = 0; k < 8; ++k) {
      if (k >= 2) SYNC(3 + (k & 1));
      ARRIVE(1 + (k & 1));
      buf[k & 1][t] = x[k * 64 + t];
      buf[k & 1][t + 32] = x[k * 64 + 32 + t];
    }
  } else {
    int sum = 0;
    for (int k = 0; k < 8; ++k) {
      SYNC(1 + (k & 1));
      sum += buf[k & 1][95 - t];
      if (k < 6) ARRIVE(3 + (k & 1));
    }
    y[t - 32] = sum;
  }
}
