// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 9 hazard RAW variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t < 16) __syncwarp(0xFFFFu);
  else __syncwarp(0xFFFF0000u);
  out[t] = s[31 - t];
}
