// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *n) {
  int seen;
  if (blockIdx.x == 0) *n = 1;
  else {
    while ((seen = *n) < 1) {}
    atomicAdd((int *)n, 1);
  }
}
