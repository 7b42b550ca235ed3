// launch: {"kernel": "matmul", "grid": [2, 3, 1], "block": [8, 8, 1], "args": [["float32", 221], ["float32", 247], ["float32", 323, "out"], 17, 13, 19]}
#define T 8
extern "C" __global__ void matmul(const float *A, const float *B, float *C, int m, int k, int n) {
  __shared__ float As[T][T], Bs[T][T];
  int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
  float acc = 0;
  for (int t = 0; t < (k + T - 1) / T; ++t) {
    int a = t * T + threadIdx.x, b = t * T + threadIdx.y;
    As[threadIdx.y][threadIdx.x] = row < m && a < k ? A[row * k + a] : 0.0f;
    Bs[threadIdx.y][threadIdx.x] = b < k && col < n ? B[b * n + col] : 0.0f;
    __syncthreads();
    for (int i = 0; i < T; ++i) acc += As[threadIdx.y][i] * Bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) C[row * n + col] = acc;
}
