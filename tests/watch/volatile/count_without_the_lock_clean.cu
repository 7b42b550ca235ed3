// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  n[0] = n[0] + 1;
  __threadfence();
  atomicExch(lock, 0);
}
