// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: timeout error line 4
extern "C" __global__ void k(volatile int *flag, int *out) {
  while (*flag == 0) {}
  out[threadIdx.x] = 1;
}
