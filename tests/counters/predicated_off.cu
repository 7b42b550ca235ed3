// launch: {"kernel": "predicated_off", "grid": [2, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "zero"], 64]}
extern "C" __global__ void predicated_off(const float *in, float *out, int period) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % period < period / 2) out[i] = in[i] + 1;
}
