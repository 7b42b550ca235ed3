// launch: {"kernel": "tile_8x8_columns", "grid": [2, 2, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
extern "C" __global__ void tile_8x8_columns(const float *in, float *out) {
  __shared__ float s[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  s[y][x] = in[(blockIdx.y * 8 + y) * 16 + blockIdx.x * 8 + x];
  __syncthreads();
  out[(blockIdx.x * 8 + y) * 16 + blockIdx.y * 8 + x] = s[x][y];
}
