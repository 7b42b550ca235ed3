// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *x, volatile int *found) {
  for (int i = threadIdx.x; i < 64; i += 8) { if (*found) return; if (x[i] == 3) *found = 1; }
}
