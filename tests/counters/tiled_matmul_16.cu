// launch: {"kernel": "tiled_matmul_16", "grid": [3, 4, 1], "block": [16, 16, 1], "shared": 0, "args": [["float32", 1850], ["float32", 1517], ["float32", 2050, "out"], 50, 41, 37]}
extern "C" __global__ void tiled_matmul_16(const float *A, const float *B, float *C, int m, int n, int k) {
  __shared__ float As[16][16], Bs[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  for (int p = 0; p < k; p += 16) {
    As[y][x] = row < m && p + x < k ? A[row * k + p + x] : 0;
    Bs[y][x] = p + y < k && col < n ? B[(p + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += As[y][i] * Bs[i][x];
    __syncthreads();
  }
  if (row < m && col < n) C[row * n + col] = sum;
}
