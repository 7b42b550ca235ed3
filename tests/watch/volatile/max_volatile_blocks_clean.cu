// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *best) {
  int v = x[blockIdx.x * 64 + threadIdx.x], old = *(volatile int *)best;
  while (v > old) { int seen = atomicCAS(best, old, v); if (seen == old) break; old = seen; }
}
