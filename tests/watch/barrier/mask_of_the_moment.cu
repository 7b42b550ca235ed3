// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 8
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  int v = in[t];
  if (v % 3) {
    unsigned here = __activemask();
    v = __shfl_xor_sync(here, v, 1);
  }
  out[t] = v;
}
