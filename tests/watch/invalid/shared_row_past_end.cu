// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: invalid-access error line 6 variable tile
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float tile[8][8];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y + 1][x] = in[y * 8 + x];
  if (y == 0) tile[0][x] = 0;
  __syncthreads();
  out[y * 8 + x] = tile[y][x];
}
