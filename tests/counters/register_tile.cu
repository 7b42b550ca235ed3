// launch: {"kernel": "register_tile", "grid": [1, 1, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 256], ["float32", 256], ["float32", 1024, "out"]]}
extern "C" __global__ void register_tile(const float *a, const float *b, float *c) {
  __shared__ float as[8][36], bs[8][32];
  int x = threadIdx.x, y = threadIdx.y, t = y * 8 + x;
  for (int i = t; i < 256; i += 64) { as[i % 8][i / 8] = a[i]; bs[i / 32][i % 32] = b[i]; }
  __syncthreads();
  float sum[4][4] = {};
#pragma unroll 1
  for (int k = 0; k < 8; k++)
    for (int r = 0; r < 4; r++)
      for (int q = 0; q < 4; q++) sum[r][q] += as[k][y * 4 + r] * bs[k][q * 8 + x];
  for (int r = 0; r < 4; r++)
    for (int q = 0; q < 4; q++) c[(y * 4 + r) * 32 + q * 8 + x] = sum[r][q];
}
