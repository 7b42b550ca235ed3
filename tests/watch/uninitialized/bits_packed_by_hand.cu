// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 8 variable s
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ unsigned s[64];
  int t = threadIdx.x;
  // bits 8 to 15 come from `in`, the others from what was there
  s[t] = (s[t] & ~0xff00u) | ((in[t] & 255u) << 8);
  out[t] = s[t] >> 4;
}
