// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  double moments[3] = {};
  for (int i = 0; i < 8; ++i) {
    double x = in[at + i];
    for (int k = 0; k < 3; ++k) {
      moments[k] += x;
      x *= x;
    }
  }
  out[at] = moments[0] + moments[1] + moments[2];
}
