// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 6 variable n
extern "C" __global__ void k(int *n) {
  if (threadIdx.x) return;
  int seen = *(volatile int *)n;
  atomicCAS(n, seen, seen + 1);
}
