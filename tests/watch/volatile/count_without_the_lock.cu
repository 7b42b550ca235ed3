// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: race error variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  int old = n[0];
  while (atomicCAS(lock, 0, 1) != 0) {}
  __threadfence();
  n[0] = old + 1;
  __threadfence();
  atomicExch(lock, 0);
}
