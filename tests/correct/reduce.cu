// Reductions: trees in shared memory, warps, atomics, the last block that adds up the others.

// kernel tree grid 4 block 128
// in x int32 = rng.integers(-99, 99, 512)
// out y int32 = x.reshape(4, 128).sum(1)
extern "C" __global__ void tree(const int *x, int *y) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

// kernel interleaved grid 3 block 64
// in x float32 = rng.integers(-99, 99, 192)
// out y float32 = x.reshape(3, 64).sum(1)
extern "C" __global__ void interleaved(const float *x, float *y) {
  extern __shared__ float unused[];
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  for (int k = 1; k < 64; k *= 2) {
    __syncthreads();
    int i = 2 * k * t;
    if (i < 64) s[i] += s[i + k];
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

// kernel warp_tail grid 2 block 128
// in x int32 = rng.integers(-99, 99, 256)
// out y int32 = x.reshape(2, 128).sum(1)
extern "C" __global__ void warp_tail(const int *x, int *y) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) {
    int v = s[t] + s[t + 32];
    for (int k = 16; k; k >>= 1) v += __shfl_down_sync(0xffffffffu, v, k);
    if (t == 0) y[blockIdx.x] = v;
  }
}

// kernel syncwarp_tail grid 2 block 64
// in x int32 = rng.integers(-99, 99, 128)
// out y int32 = x.reshape(2, 64).sum(1)
extern "C" __global__ void syncwarp_tail(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  if (t < 32) {
    int v = s[t];
    v += s[t + 32]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 16]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 8]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 4]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 2]; __syncwarp(); s[t] = v; __syncwarp();
    v += s[t + 1];
    if (t == 0) y[blockIdx.x] = v;
  }
}

// kernel two_stages grid 1 block 256
// in x int32 = rng.integers(-99, 99, 1000)
// value n int32 = 1000
// out y int32 = [x.sum(), x.max()]
extern "C" __global__ void two_stages(const int *x, int n, int *y) {
  __shared__ int sums[8], most[8];
  int v = 0, m = -1000;
  for (int i = threadIdx.x; i < n; i += blockDim.x) { v += x[i]; m = max(m, x[i]); }
  for (int k = 16; k; k /= 2) {
    v += __shfl_xor_sync(~0u, v, k);
    m = max(m, __shfl_xor_sync(~0u, m, k));
  }
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) { sums[warp] = v; most[warp] = m; }
  __syncthreads();
  if (warp == 0) {
    v = lane < 8 ? sums[lane] : 0;
    m = lane < 8 ? most[lane] : -1000;
    v = __reduce_add_sync(~0u, v);
    m = __reduce_max_sync(~0u, m);
    if (lane == 0) { y[0] = v; y[1] = m; }
  }
}

// kernel grid_atomic grid 8 block 64
// in x int32 = rng.integers(-99, 99, 512)
// inout y int32 = [0] -> [x.sum()]
extern "C" __global__ void grid_atomic(const int *x, int *y) {
  int v = x[blockIdx.x * 64 + threadIdx.x];
  for (int k = 16; k; k /= 2) v += __shfl_down_sync(~0u, v, k);
  if (threadIdx.x % 32 == 0) atomicAdd(y, v);
}

// kernel last_block grid 6 block 64
// in x int32 = rng.integers(-99, 99, 384)
// inout part int32 = np.zeros(6) -> _
// inout y int32 = [0] -> [x.sum()]
__device__ unsigned finished = 0;
extern "C" __global__ void last_block(const int *x, int *part, int *y) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int k = 32; k; k /= 2) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    __threadfence();
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    s[t] = t < gridDim.x ? part[t] : 0;
    __syncthreads();
    for (int k = 32; k; k /= 2) {
      if (t < k) s[t] += s[t + k];
      __syncthreads();
    }
    if (t == 0) *y = s[0];
  }
}

// kernel last_block_all_fence grid 5 block 96
// in x float32 = rng.integers(-99, 99, 480)
// inout part float32 = np.zeros(480) -> _
// inout ticket uint32 = [0] -> [5]
// inout y float32 = [0] -> [(2 * x).sum()]
extern "C" __global__ void last_block_all_fence(const float *x, volatile float *part, unsigned *ticket, float *y) {
  __shared__ unsigned mine;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[i] = 2 * x[i];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) mine = atomicAdd(ticket, 1);
  __syncthreads();
  if (mine == gridDim.x - 1 && threadIdx.x == 0) {
    float sum = 0;
    for (int k = 0; k < gridDim.x * blockDim.x; k++) sum += part[k];
    *y = sum;
  }
}

// kernel argmax_packed grid 4 block 64
// in x int32 = rng.permutation(256)
// inout best uint64 = [0] -> [np.uint64(255) << np.uint64(32) | np.uint64(x.argmax())]
extern "C" __global__ void argmax_packed(const int *x, unsigned long long *best) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicMax(best, (unsigned long long)x[i] << 32 | (unsigned)i);
}

// kernel float_max_cas grid 2 block 64
// in x float32 = rng.random(128) - 0.5
// inout y float32 = [-1] -> [x.max()]
extern "C" __global__ void float_max_cas(const float *x, float *y) {
  float v = x[blockIdx.x * 64 + threadIdx.x];
  int *at = (int *)y, old = *(volatile int *)at, seen;
  do {
    seen = old;
    if (__int_as_float(seen) >= v) break;
    old = atomicCAS(at, seen, __float_as_int(v));
  } while (old != seen);
}

// kernel rows grid 5 block 32,4
// in a float32 = rng.integers(-9, 9, (20, 70))
// value n int32 = 70
// out y float32 = a.sum(1)
extern "C" __global__ void rows(const float *a, int n, float *y) {
  int row = blockIdx.x * 4 + threadIdx.y;
  float v = 0;
  for (int c = threadIdx.x; c < n; c += 32) v += a[row * n + c];
  for (int k = 16; k; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
  if (threadIdx.x == 0) y[row] = v;
}
