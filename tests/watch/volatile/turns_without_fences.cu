// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: race error line 5 variable lock
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  while (n[0] != blockIdx.x) {}
  lock[0] = lock[0] + 1;
  n[0] = blockIdx.x + 1;
}
