// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 512, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  float *b = s + 64;
  b[t] = in[t];
  out[t] = b[t];
}
