// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  for (int i = threadIdx.x; i < 64 && !n[0]; i += 8)
    if (i == 40) { atomicExch(lock, i); n[0] = 1; }
}
