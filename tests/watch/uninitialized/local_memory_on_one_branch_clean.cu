// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float part[2] = {1, 2};
  if (at % 2 == 0) {
    part[0] = in[at];
    part[1] = in[at + 1];
  }
  for (int i = 0; i < 2; ++i)
    out[at] += part[i] * 2;
}
