// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 4], ["int32", 1, "zero"]]}
// expect: lost-update error line 6 variable best
extern "C" __global__ void k(const int *x, int *best) {
  if (threadIdx.x) return;
  int own = x[blockIdx.x], seen = atomicAdd(best, 0);
  if (own > seen) atomicCAS(best, seen, own);
}
