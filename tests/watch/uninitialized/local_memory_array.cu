// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 8 variable acc
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float acc[4];
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      acc[i] += in[at + 4 * i + j];
  out[at] = acc[0] + acc[1] + acc[2] + acc[3];
}
