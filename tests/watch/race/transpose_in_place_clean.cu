// launch: {"kernel": "k", "grid": [2, 2, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 256, "inout"], 16]}
// expect: clean
extern "C" __global__ void k(float *a, int n) {
  __shared__ float t[2][8][9];
  if (blockIdx.x > blockIdx.y) return;
  int x = threadIdx.x, y = threadIdx.y, bx = blockIdx.x * 8, by = blockIdx.y * 8;
  t[0][y][x] = a[(by + y) * n + bx + x];
  t[1][y][x] = a[(bx + y) * n + by + x];
  __syncthreads();
  a[(by + y) * n + bx + x] = t[1][x][y];
  a[(bx + y) * n + by + x] = t[0][x][y];
}
