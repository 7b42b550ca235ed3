// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
// The last block alone writes, when no other does any more.
extern "C" __global__ void k(int *n) {
  if (threadIdx.x) return;
  int before = atomicAdd(n, 1);
  if (before == gridDim.x - 1) *(volatile int *)n = 2 * before + 1;
}
