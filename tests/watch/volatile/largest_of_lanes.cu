// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: lost-update error line 5 variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  int x = threadIdx.x * 7 % 32;
  if (n[0] < x) n[0] = x;
}
