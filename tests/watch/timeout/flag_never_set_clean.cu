// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(volatile int *flag, int *out) {
  if (threadIdx.x == 0) *flag = 1;
  while (*flag == 0) {}
  out[threadIdx.x] = 1;
}
