// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float As[8][8], Bs[8][9];
  int x = threadIdx.x, y = threadIdx.y;
  As[y][x] = in[y * 8 + x];
  Bs[x][y] = in[y * 8 + x];
  __syncthreads();
  out[y * 8 + x] = As[y][x] + Bs[y][x];
}
