// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
__constant__ float w[5] = {1, 2, 3, 2, 1};
extern "C" __global__ void k(const float *in, float *out) {
  float sum = 0;
  for (int i = 0; i < 5; ++i) sum += w[i] * in[threadIdx.x];
  out[threadIdx.x] = sum;
}
