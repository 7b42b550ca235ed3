// launch: {"kernel": "uncoalesced_matmul", "grid": [4, 3, 1], "block": [16, 16, 1], "shared": 0, "args": [["float32", 1850], ["float32", 1517], ["float32", 2050, "out"], 50, 41, 37]}
extern "C" __global__ void uncoalesced_matmul(const float *A, const float *B, float *C, int m, int n, int k) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; i++) sum += A[row * k + i] * B[i * n + col];
  C[row * n + col] = sum;
}
