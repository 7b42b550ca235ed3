// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 7
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t >= 31) return;
  int v = in[t];
  out[t] = __shfl_down_sync(0xffffffff, v, 1);
}
