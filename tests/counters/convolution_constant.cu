// launch: {"kernel": "convolution_constant", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 260], ["float32", 256, "out"]]}
__constant__ float mask[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
extern "C" __global__ void convolution_constant(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int d = 0; d < 5; d++) sum += mask[d] * in[i + d];
  out[i] = sum;
}
