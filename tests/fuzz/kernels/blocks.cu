// launch: {"kernel": "blocks", "grid": [7, 5, 1], "block": [8, 8, 1], "args": [["float32", 2035], ["float32", 2035, "out"], 55, 37]}
extern "C" __global__ void blocks(const float *a, float *out, int width, int height) {
  __shared__ float tile[8][9];
  float own[2] = {1.0f, 2.0f};
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  float sum = 0.0f;
  for (int k = 0; k < 3; ++k) {
    int at = y * width + (x + k) % width;
    tile[threadIdx.y][threadIdx.x] = 0.0f;
    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = a[at];
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += tile[threadIdx.y][i] * tile[i][threadIdx.x] + own[i & 1];
    __syncthreads();
  }
  if (blockIdx.x == 3) sum += tile[0][threadIdx.x];
  if (x < width && y < height) out[y * width + x] = sum;
}
