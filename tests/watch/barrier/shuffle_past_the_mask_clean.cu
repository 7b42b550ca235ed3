// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  if (t < 16) {
    for (int d = 8; d > 0; d /= 2)
      v += __shfl_down_sync(0x0000ffff, v, d);
    if (t == 0) out[0] = v;
  }
}
