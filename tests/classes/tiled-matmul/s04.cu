#define TILE_WIDTH 16

extern "C" __global__ void matmul(const float *A, const float *B, float *C, int n) {
  __shared__ float ds_A[TILE_WIDTH][TILE_WIDTH];
  __shared__ float ds_B[TILE_WIDTH][TILE_WIDTH];
  int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
  int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
  float value = 0;

  for (int p = 0; p < n / TILE_WIDTH; p++) {
    ds_A[threadIdx.y][threadIdx.x] = A[Row * n + p * TILE_WIDTH + threadIdx.x];
    ds_B[threadIdx.y][threadIdx.x] = B[(p * TILE_WIDTH + threadIdx.y) * n + Col];
    __syncthreads();
    for (int i = 0; i < TILE_WIDTH; i++) {
      value += ds_A[threadIdx.y][i] * ds_B[i][threadIdx.x];
    }
  }
  C[Row * n + Col] = value;
}
