// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 6 variable n
extern "C" __global__ void k(volatile int *n) {
  if (threadIdx.x == 96) { *n = 1; __threadfence(); }
  while (*n < 1) { }
  if (threadIdx.x % 32 == 1) *n = *n + 1;
}
