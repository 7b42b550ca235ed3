// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float tile[8][9];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 8 + x];
  __syncthreads();
  float v = tile[x][y];
  __syncthreads();
  tile[y][x] = v;
  __syncthreads();
  out[y * 8 + x] = tile[y][x];
}
