// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *out) {
  int t = threadIdx.x;
  int width = 8 << (t / 16);
  out[t] = __shfl_down_sync(~0u, x[t], 1, width);
}
