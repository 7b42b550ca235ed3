// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], null, ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, const float *bias, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  if (bias) x += bias[t];
  out[t] = x;
}
