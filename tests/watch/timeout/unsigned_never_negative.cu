// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 64]}
// expect: timeout error
extern "C" __global__ void k(const float *in, float *out, int n) {
  float sum = 0;
  for (unsigned i = n - 1; i >= 0; --i) sum += in[i & 63];
  out[threadIdx.x] = sum;
}
