// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable m
extern "C" __global__ void k(int *m, int *n) {
  while (atomicCAS(m, 0, 1)) {}
  __threadfence();
  n[0]++;
  __threadfence();
  *m = 0;
}
