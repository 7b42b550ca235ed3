// launch: {"kernel": "many_registers", "grid": [2, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 4096], ["float32", 256, "out"]]}
extern "C" __global__ void many_registers(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float held[16];
#pragma unroll
  for (int j = 0; j < 16; j++) held[j] = in[j * 256 + i];
  float sum = 0;
#pragma unroll
  for (int j = 0; j < 16; j++)
#pragma unroll
    for (int l = 0; l < 16; l++) sum += held[j] * held[l] + held[(j + l) % 16];
  out[i] = sum;
}
