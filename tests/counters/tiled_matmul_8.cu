// launch: {"kernel": "tiled_matmul_8", "grid": [3, 5, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 2240], ["float32", 1344], ["float32", 960, "out"], 40, 24, 56]}
extern "C" __global__ void tiled_matmul_8(const float *A, const float *B, float *C, int m, int n, int k) {
  __shared__ float As[8][8], Bs[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 8 + y, col = blockIdx.x * 8 + x;
  float sum = 0;
  for (int p = 0; p < k; p += 8) {
    As[y][x] = row < m && p + x < k ? A[row * k + p + x] : 0;
    Bs[y][x] = p + y < k && col < n ? B[(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 8; i++) sum += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  if (row < m && col < n) C[row * n + col] = sum;
}
