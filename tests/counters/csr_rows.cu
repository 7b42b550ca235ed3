// launch: {"kernel": "csr_rows", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 640], ["float32", 256], ["float32", 128, "out"]]}
extern "C" __global__ void csr_rows(const float *value, const float *x, float *y) {
  int row = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
#pragma unroll 1
  for (int k = row * 5; k < row * 5 + 5; k++) sum += value[k] * x[(k * 13 + row) % 256];
  y[row] = sum;
}
