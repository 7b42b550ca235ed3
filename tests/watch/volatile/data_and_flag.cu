// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: race error line 9 variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  if (blockIdx.x == 0) {
    n[0] = 7;
    n[1] = 1;
  } else {
    while (n[1] == 0) {}
    out[0] = n[0];
  }
}
