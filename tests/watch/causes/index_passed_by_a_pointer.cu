// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 10 hazard RAW variable first
// expect: invalid-access error line 5
// first: race line 10 hazard RAW variable first
__device__ __noinline__ int element(const int *x, const int *at) { return x[*at + threadIdx.x % 32]; }
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int first;
  int t = threadIdx.x;
  if (t == 40) first = x[t] % 8;
  int at = first * 2;
  y[t] = element(x, &at);
}
