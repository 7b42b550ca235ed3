// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 7
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  int v = in[t] * 3;
  unsigned odd = 0xaaaaaaaau;
  if (t & 1) out[t] = __shfl_sync(odd, v, 0);
  else out[t] = v;
}
