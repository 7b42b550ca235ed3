// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 7
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  if (t < 20) {
    for (int d = 16; d > 0; d /= 2)
      v += __shfl_down_sync(0x000fffff, v, d);
    if (t == 0) out[0] = v;
  }
}
