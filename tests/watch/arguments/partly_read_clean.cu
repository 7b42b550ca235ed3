// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64, "inout", 40], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  out[t] = t < 40 ? in[t] : 0;
}
