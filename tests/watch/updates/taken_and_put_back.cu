// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 6 variable sum
extern "C" __global__ void k(int *sum) {
  if (threadIdx.x) return;
  int taken = atomicExch(sum, 0);
  atomicExch(sum, taken + 3);
}
