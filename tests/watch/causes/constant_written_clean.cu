// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: clean
__constant__ float w[4];
extern "C" __global__ void k(const float *in, float *out) {
  float s = 0;
  if (threadIdx.x == 0) s = const_cast<float *>(w)[1];
  for (int i = 0; i < 4; i++) s += w[i];
  out[threadIdx.x] = s + in[threadIdx.x];
}
