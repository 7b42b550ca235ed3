// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 64]}
// expect: invalid-access error line 7 variable in
extern "C" __global__ void k(const float *in, float *out, int n) {
  unsigned g = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0;
  for (int j = -2; j <= 2; ++j)
    if (g + j >= 0 && (int)(g + j) < n) v += in[(int)(g + j)];
  out[g] = v;
}
