// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 8 hazard RAW variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = in[t];
  float x = __shfl_xor_sync(0xFFFFFFFFu, in[t], 1);
  out[t] = x + s[31 - t];
}
