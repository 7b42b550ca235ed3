// Prefix sums: Hillis-Steele, Blelloch, by warps, over many blocks with decoupled look-back.

// kernel double_buffered grid 2 block 64
// in x int32 = rng.integers(0, 9, 128)
// out y int32 = x.reshape(2, 64).cumsum(1).ravel()
extern "C" __global__ void double_buffered(const int *x, int *y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, now = 0;
  s[0][t] = x[blockIdx.x * 64 + t];
  __syncthreads();
  for (int k = 1; k < 64; k *= 2) {
    s[1 - now][t] = s[now][t] + (t >= k ? s[now][t - k] : 0);
    now = 1 - now;
    __syncthreads();
  }
  y[blockIdx.x * 64 + t] = s[now][t];
}

// kernel blelloch grid 1 block 64
// in x int32 = rng.integers(0, 9, 128)
// out y int32 = x.cumsum() - x
extern "C" __global__ void blelloch(const int *x, int *y) {
  __shared__ int s[128];
  int t = threadIdx.x, step = 1;
  s[2 * t] = x[2 * t];
  s[2 * t + 1] = x[2 * t + 1];
  for (int d = 64; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    step *= 2;
  }
  if (t == 0) s[127] = 0;
  for (int d = 1; d < 128; d *= 2) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1, v = s[a];
      s[a] = s[b];
      s[b] += v;
    }
  }
  __syncthreads();
  y[2 * t] = s[2 * t];
  y[2 * t + 1] = s[2 * t + 1];
}

// kernel by_warps grid 1 block 256
// in x int32 = rng.integers(0, 9, 256)
// out y int32 = x.cumsum()
extern "C" __global__ void by_warps(const int *x, int *y) {
  __shared__ int sums[8];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, v = x[t];
  for (int k = 1; k < 32; k *= 2) {
    int o = __shfl_up_sync(~0u, v, k);
    if (lane >= k) v += o;
  }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int w = lane < 8 ? sums[lane] : 0;
    for (int k = 1; k < 8; k *= 2) {
      int o = __shfl_up_sync(~0u, w, k);
      if (lane >= k) w += o;
    }
    if (lane < 8) sums[lane] = w;
  }
  __syncthreads();
  y[t] = v + (warp ? sums[warp - 1] : 0);
}

// kernel look_back grid 8 block 32
// in x int32 = rng.integers(0, 9, 256)
// inout flag int32 = np.zeros(8) -> np.full(8, 2)
// inout total int32 = np.zeros(8) -> _
// inout prefix int32 = np.zeros(8) -> _
// out y int32 = x.cumsum()
extern "C" __global__ void look_back(const int *x, int *flag, int *total, int *prefix, int *y) {
  int b = blockIdx.x, t = threadIdx.x, v = x[b * 32 + t];
  for (int k = 1; k < 32; k *= 2) {
    int o = __shfl_up_sync(~0u, v, k);
    if (t >= k) v += o;
  }
  int before = 0;
  if (t == 31) {
    total[b] = v;
    __threadfence();
    atomicExch(&flag[b], 1);
    for (int k = b - 1; k >= 0; k--) {
      int state;
      while ((state = atomicAdd(&flag[k], 0)) == 0) {}
      __threadfence();
      if (state == 2) { before += *(volatile int *)&prefix[k]; break; }
      before += *(volatile int *)&total[k];
    }
    prefix[b] = before + v;
    __threadfence();
    atomicExch(&flag[b], 2);
  }
  before = __shfl_sync(~0u, before, 31);
  y[b * 32 + t] = before + v;
}

// kernel compact grid 1 block 128
// in x int32 = rng.integers(-9, 9, 128)
// inout y int32 = np.zeros(128) -> np.concatenate([x[x > 0], np.zeros((x <= 0).sum())])
// out n int32 = [(x > 0).sum()]
extern "C" __global__ void compact(const int *x, int *y, int *n) {
  __shared__ int counts[4];
  int t = threadIdx.x, lane = t % 32, warp = t / 32;
  bool keep = x[t] > 0;
  unsigned votes = __ballot_sync(~0u, keep);
  if (lane == 0) counts[warp] = __popc(votes);
  __syncthreads();
  int at = __popc(votes & ((1u << lane) - 1));
  for (int w = 0; w < warp; w++) at += counts[w];
  if (keep) y[at] = x[t];
  if (t == 127) *n = at + keep;
}
