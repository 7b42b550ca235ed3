// launch: {"kernel": "tiled_matmul_32", "grid": [2, 3, 1], "block": [32, 32, 1], "shared": 0, "args": [["float32", 2310], ["float32", 2112], ["float32", 4480, "out"], 70, 64, 33]}
extern "C" __global__ void tiled_matmul_32(const float *A, const float *B, float *C, int m, int n, int k) {
  __shared__ float As[32][32], Bs[32][32];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 32 + y, col = blockIdx.x * 32 + x;
  float sum = 0;
  for (int p = 0; p < k; p += 32) {
    As[y][x] = row < m && p + x < k ? A[row * k + p + x] : 0;
    Bs[y][x] = p + y < k && col < n ? B[(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 32; i++) sum += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  if (row < m && col < n) C[row * n + col] = sum;
}
