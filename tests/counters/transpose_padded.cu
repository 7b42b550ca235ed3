// launch: {"kernel": "transpose_padded", "grid": [3, 2, 1], "block": [32, 32, 1], "shared": 0, "args": [["float32", 6144], ["float32", 6144, "out"], 96, 64]}
extern "C" __global__ void transpose_padded(const float *in, float *out, int width, int height) {
  __shared__ float tile[32][32 + 1];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  int column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  if (row < width && column < height) out[row * height + column] = tile[threadIdx.x][threadIdx.y];
}
