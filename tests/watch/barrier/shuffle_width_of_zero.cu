// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: barrier-divergence error line 5
extern "C" __global__ void k(const int *x, int *out) {
  int t = threadIdx.x, width = x[0] & 0;
  out[t] = __shfl_sync(~0u, x[t], t, width);
}
