// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: barrier-divergence error line 7
// Rows of 12 elements: the width is computed.
extern "C" __global__ void k(const int *x, int *out) {
  int t = threadIdx.x;
  int width = 12 + 0 * x[0];
  out[t] = __shfl_down_sync(~0u, x[t], 1, width);
}
