// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: invalid-access error line 8 variable w
// expect: launch-failure error
// first: invalid-access line 8 variable w
__constant__ float w[4];
extern "C" __global__ void k(const float *in, float *out) {
  float s = 0;
  if (threadIdx.x == 0) const_cast<float *>(w)[1] = 2;
  for (int i = 0; i < 4; i++) s += w[i];
  out[threadIdx.x] = s + in[threadIdx.x];
}
