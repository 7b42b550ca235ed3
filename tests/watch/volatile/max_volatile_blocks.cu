// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "zero"]]}
// expect: lost-update error variable best
extern "C" __global__ void k(const int *x, volatile int *best) {
  int v = x[threadIdx.x];
  if (*best < v) *best = v;
}
