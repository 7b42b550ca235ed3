// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: lost-update error line 5 variable n
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  if (blockIdx.x == 0) atomicAdd((int *)n, 1);
  else n[0] = n[0] + 1;
}
