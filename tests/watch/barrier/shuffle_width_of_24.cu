// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *x, int *out) {
  int t = threadIdx.x;
  int v = x[t];
  v += __shfl_xor_sync(~0u, v, 1, 24);
  out[t] = v;
}
