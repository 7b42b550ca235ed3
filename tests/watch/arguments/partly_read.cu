// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64, "inout", 40], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 5 variable in
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  out[t] = in[t];
}
