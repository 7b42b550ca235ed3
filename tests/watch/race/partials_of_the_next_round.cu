// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8], ["int32", 8, "zero"], ["uint32", 1, "zero"], ["int32", 2, "out"]]}
// expect: race error variable part
extern "C" __global__ void k(const int *x, int *part, unsigned *count, int *y) {
  for (int r = 0; r < 2; ++r) {
    int *mine = part;
    mine[blockIdx.x] = x[r * 4 + blockIdx.x];
    __threadfence();
    if (atomicAdd(count, 1) % 4 == 3) {
      __threadfence();
      int sum = 0;
      for (int b = 0; b < 4; ++b) sum += mine[b];
      y[r] = sum;
    }
    while (*(volatile unsigned *)count < 4 * r + 4) {}
  }
}
