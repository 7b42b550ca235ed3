// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128, "zero"], ["int32", 1, "zero"]]}
// expect: lost-update error line 5 variable found
extern "C" __global__ void k(const int *x, volatile int *found) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (x[i] == 0 && 1000 - i > *found) *found = 1000 - i;
}
