// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 6 variable bits
extern "C" __global__ void k(int *bits) {
  if (threadIdx.x) return;
  int seen = atomicOr(bits, 0);
  atomicExch(bits, seen | 1 << blockIdx.x);
}
