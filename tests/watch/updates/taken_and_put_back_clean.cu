// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
// Whoever finds the mark waits: the value is its own lock.
extern "C" __global__ void k(int *sum) {
  if (threadIdx.x) return;
  int taken = atomicExch(sum, -1);
  while (taken == -1) taken = atomicExch(sum, -1);
  atomicExch(sum, taken + 3);
}
