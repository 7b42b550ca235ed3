// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  atomicAdd((int *)n, 1);
}
