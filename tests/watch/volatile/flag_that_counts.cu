// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1]]}
// expect: lost-update error line 6 variable n
extern "C" __global__ void k(const int *a, volatile int *n) {
  int t = blockIdx.x * 64 + threadIdx.x;
  if (a[t] >= 0 && *n < 1000)
    *n = *n + 1;
}
