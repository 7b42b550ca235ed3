// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 6 hazard WAW variable out
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  out[t] = in[t];
  out[t ^ 32] = in[t] + t;
}
