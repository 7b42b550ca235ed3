// Tiles, stencils, transposes, convolutions, sparse and dense products.

// kernel transpose_padded grid 2,3 block 16,16
// in a float32 = rng.random((48, 32))
// out b float32 = a.T
extern "C" __global__ void transpose_padded(const float *a, float *b) {
  __shared__ float s[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  s[threadIdx.y][threadIdx.x] = a[y * 32 + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  b[y * 48 + x] = s[threadIdx.x][threadIdx.y];
}

// kernel tiled_matmul grid 3,2 block 8,8 tol 1e-5
// in a float32 = rng.random((13, 21))
// in b float32 = rng.random((21, 20))
// out c float32 = a @ b
extern "C" __global__ void tiled_matmul(const float *a, const float *b, float *c) {
  __shared__ float as[8][8], bs[8][8];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
  float sum = 0;
  for (int k0 = 0; k0 < 21; k0 += 8) {
    as[ty][tx] = row < 13 && k0 + tx < 21 ? a[row * 21 + k0 + tx] : 0;
    bs[ty][tx] = col < 20 && k0 + ty < 21 ? b[(k0 + ty) * 20 + col] : 0;
    __syncthreads();
    for (int k = 0; k < 8; k++) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  if (row < 13 && col < 20) c[row * 20 + col] = sum;
}

// kernel one_barrier_matmul grid 2,2 block 8,8 tol 1e-5
// in a float32 = rng.random((16, 32))
// in b float32 = rng.random((32, 16))
// out c float32 = a @ b
extern "C" __global__ void one_barrier_matmul(const float *a, const float *b, float *c) {
  __shared__ float as[2][8][8], bs[2][8][8];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, col = blockIdx.x * 8 + tx;
  float sum = 0;
  as[0][ty][tx] = a[row * 32 + tx];
  bs[0][ty][tx] = b[ty * 16 + col];
  for (int k0 = 0, now = 0; k0 < 32; k0 += 8, now ^= 1) {
    __syncthreads();
    if (k0 + 8 < 32) {
      as[now ^ 1][ty][tx] = a[row * 32 + k0 + 8 + tx];
      bs[now ^ 1][ty][tx] = b[(k0 + 8 + ty) * 16 + col];
    }
    for (int k = 0; k < 8; k++) sum += as[now][ty][k] * bs[now][k][tx];
  }
  c[row * 16 + col] = sum;
}

// kernel halo grid 4 block 32
// in x float32 = rng.integers(0, 9, 128)
// out y float32 = np.convolve(x, [1, 2, 3, 2, 1], "same")
extern "C" __global__ void halo(const float *x, float *y) {
  __shared__ float s[36];
  int t = threadIdx.x, i = blockIdx.x * 32 + t;
  s[t + 2] = x[i];
  if (t < 2) {
    s[t] = i >= 2 ? x[i - 2] : 0;
    s[t + 34] = i + 32 < 128 ? x[i + 32] : 0;
  }
  __syncthreads();
  y[i] = s[t] + 2 * s[t + 1] + 3 * s[t + 2] + 2 * s[t + 3] + s[t + 4];
}

// kernel constant_mask grid 2,2 block 8,8
// in x float32 = rng.integers(0, 9, (16, 16))
// global mask float32 = np.arange(9)
// out y float32 = sum(np.pad(x, 1)[r:r+16, c:c+16] * (3 * r + c) for r in range(3) for c in range(3))
__constant__ float mask[3][3];
extern "C" __global__ void constant_mask(const float *x, float *y) {
  int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  float sum = 0;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) {
      int rr = row + r - 1, cc = col + c - 1;
      if (rr >= 0 && rr < 16 && cc >= 0 && cc < 16) sum += x[rr * 16 + cc] * mask[r][c];
    }
  y[row * 16 + col] = sum;
}

// kernel csr grid 2 block 32
// in start int32 = [0, 2, 2, 5, 9, 10]
// in column int32 = [0, 3, 1, 2, 4, 0, 1, 2, 3, 4]
// in value float32 = np.arange(1, 11)
// in x float32 = [1, 2, 3, 4, 5]
// out y float32 = [9, 0, 43, 80, 50]
extern "C" __global__ void csr(const int *start, const int *column, const float *value, const float *x, float *y) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (row >= 5) return;
  float sum = 0;
  for (int k = start[row] + lane; k < start[row + 1]; k += 8) sum += value[k] * x[column[k]];
  unsigned mine = 0xffu << (threadIdx.x % 32 / 8 * 8);
  for (int k = 4; k; k /= 2) sum += __shfl_down_sync(mine, sum, k, 8);
  if (lane == 0) y[row] = sum;
}

// kernel early_return grid 3 block 64
// in x int32 = rng.integers(0, 99, 150)
// value n int32 = 150
// out y int32 = x + 1
extern "C" __global__ void early_return(const int *x, int n, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i] + 1;
}

// kernel early_return_barrier grid 1 block 96
// in x int32 = rng.integers(0, 99, 70)
// out y int32 = x[::-1]
extern "C" __global__ void early_return_barrier(const int *x, int *y) {
  __shared__ int s[96];
  int t = threadIdx.x;
  if (t >= 70) return;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[69 - t];
}

// kernel jacobi grid 1 block 18
// in x int32 = rng.integers(0, 1000, 18)
// value steps int32 = 4
// out y int32 = [(lambda f: f(f, x, 4))(lambda f, v, n: v if n == 0 else f(f, np.concatenate([[v[0]], (v[:-2] + v[2:]) // 2, [v[-1]]]), n - 1))][0]
extern "C" __global__ void jacobi(const int *x, int steps, int *y) {
  __shared__ int s[2][18];
  int t = threadIdx.x;
  s[0][t] = s[1][t] = x[t];
  __syncthreads();
  for (int k = 0; k < steps; k++) {
    if (t > 0 && t < 17) s[(k + 1) & 1][t] = (s[k & 1][t - 1] + s[k & 1][t + 1]) / 2;
    __syncthreads();
  }
  y[t] = s[steps & 1][t];
}

// kernel vector_loads grid 2 block 32
// in x float32 = rng.random(256)
// out y float32 = x[::1] * 2
extern "C" __global__ void vector_loads(const float4 *x, float4 *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float4 v = x[i];
  y[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
}

// kernel median grid 1 block 16,4
// in x uint8 = rng.integers(0, 255, (4, 16))
// out y uint8 = np.median([np.pad(x, 1, "edge")[r:r+4, c:c+16] for r in range(3) for c in range(3)], 0)
extern "C" __global__ void median(const unsigned char *x, unsigned char *y) {
  unsigned char v[9];
  int c0 = threadIdx.x, r0 = threadIdx.y, n = 0;
  for (int r = -1; r <= 1; r++)
    for (int c = -1; c <= 1; c++)
      v[n++] = x[min(max(r0 + r, 0), 3) * 16 + min(max(c0 + c, 0), 15)];
  for (int i = 0; i < 5; i++)
    for (int k = i + 1; k < 9; k++)
      if (v[k] < v[i]) { unsigned char o = v[i]; v[i] = v[k]; v[k] = o; }
  y[r0 * 16 + c0] = v[4];
}
// kernel large_shared grid 1 block 256 shared 229376 large_shared yes
// out o int32 = 57343 - np.arange(256)
// 224 KiB of dynamic shared memory, after cudaFuncSetAttribute.
extern "C" __global__ void large_shared(int *o) {
  extern __shared__ int large[];
  for (int i = threadIdx.x; i < 57344; i += blockDim.x) large[i] = i;
  __syncthreads();
  o[threadIdx.x] = large[57343 - threadIdx.x];
}
