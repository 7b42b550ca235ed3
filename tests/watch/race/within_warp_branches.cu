// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 7 hazard RAW variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t < 16) s[t] = in[t];
  else out[t] = s[t - 16];
  if (t < 16) out[t] = 0;
}
