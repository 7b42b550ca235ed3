// launch: {"kernel": "divergent", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["float32", 128], ["float32", 128, "out"]]}
extern "C" __global__ void divergent(const int *choice, const float *values, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = values[i];
  if (choice[i] % 3 == 0)
    x = x * x + values[127 - i];
  else
#pragma unroll 1
    for (int j = 0; j < choice[i] % 5; j++) x = x * 0.5f + values[(i + j) % 128];
  out[i] = x;
}
