// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: invalid-access error line 5 variable in
extern "C" __global__ void k(const float *in, float *out) {
  unsigned i = threadIdx.x;
  out[i] = in[i - 1];
}
