// launch: {"kernel": "reduction_shuffle", "grid": [3, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 384], ["float32", 12, "out"]]}
extern "C" __global__ void reduction_shuffle(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = in[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) out[i / 32] = sum;
}
