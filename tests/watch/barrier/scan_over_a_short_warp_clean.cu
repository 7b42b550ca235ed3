// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [40, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  // the last warp has eight threads
  for (int d = 1; d < 8; d *= 2) {
    int u = __shfl_xor_sync(__activemask(), v, d);
    v += u;
  }
  out[t] = v;
}
