// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [40, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_xor_sync(0xffffffff, v, d);
    v += u;
  }
  out[t] = v;
}
