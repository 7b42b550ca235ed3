// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout"], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *x, float *out) {
  int t = threadIdx.x;
  out[t] = in[t];
  x[63 - t] = __ldg(&in[t]);
}
