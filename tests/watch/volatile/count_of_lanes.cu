// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: lost-update error line 4 variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  n[0] = n[0] + 1;
}
