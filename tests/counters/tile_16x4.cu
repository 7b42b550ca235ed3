// launch: {"kernel": "tile_16x4", "grid": [2, 1, 1], "block": [16, 4, 1], "shared": 0, "args": [["float32", 256], ["float32", 128, "out"]]}
extern "C" __global__ void tile_16x4(const float *in, float *out) {
  __shared__ float s[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  for (int r = y; r < 8; r += 4) s[r][x] = in[blockIdx.x * 128 + r * 16 + x];
  __syncthreads();
  out[blockIdx.x * 64 + y * 16 + x] = s[x % 8][y * 4 + x / 8];
}
