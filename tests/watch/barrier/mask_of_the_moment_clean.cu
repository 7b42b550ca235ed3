// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  int v = in[t];
  int other = __shfl_xor_sync(__activemask(), v, 1);
  if (v % 3) v = other;
  out[t] = v;
}
