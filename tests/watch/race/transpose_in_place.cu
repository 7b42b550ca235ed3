// launch: {"kernel": "k", "grid": [2, 2, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 256, "inout"], 16]}
// expect: race error variable a
extern "C" __global__ void k(float *a, int n) {
  __shared__ float t[8][9];
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  t[threadIdx.y][threadIdx.x] = a[y * n + x];
  __syncthreads();
  a[(blockIdx.x * 8 + threadIdx.y) * n + blockIdx.y * 8 + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}
