// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 8 variable n
extern "C" __global__ void k(volatile int *n) {
  int seen;
  if (blockIdx.x == 0) *n = 1;
  else {
    while ((seen = *n) < 1) {}
    *n = seen + 1;
  }
}
