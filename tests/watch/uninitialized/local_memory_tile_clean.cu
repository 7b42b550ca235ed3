// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float acc[2][3];
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      if (i + j >= 0)
        acc[i][j] = 0;
      acc[i][j] += in[at + i] * in[at + j];
    }
  out[at] = acc[0][0] + acc[1][2];
}
