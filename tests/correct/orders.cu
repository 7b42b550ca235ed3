// Blocks and warps run in any order: code that relies on the usual one, and right twins.

typedef unsigned long long u64;

// kernel chained_scan grid 6 block 64
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
extern "C" __global__ void chained_scan(const int *x, int *y, u64 *st) {
  __shared__ int s[64];
  __shared__ int prefix;
  int b = blockIdx.x, i = b * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    if (b > 0) {
      u64 w;
      do w = atomicAdd(&st[b - 1], 0ull); while (w >> 32 == 0);
      run = (int)(unsigned)w;
    }
    atomicExch(&st[b], 1ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// The status of the block before is read once, ready or not.
// kernel chained_scan_no_wait grid 6 block 64 orders wrong
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
extern "C" __global__ void chained_scan_no_wait(const int *x, int *y, u64 *st) {
  __shared__ int s[64];
  __shared__ int prefix;
  int b = blockIdx.x, i = b * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    if (b > 0) run = (int)(unsigned)atomicAdd(&st[b - 1], 0ull);
    atomicExch(&st[b], 1ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel look_back grid 6 block 64
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
// inout next uint32 = [0] -> [6]
extern "C" __global__ void look_back(const int *x, int *y, u64 *st, unsigned *next) {
  __shared__ int s[64], prefix;
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  __syncthreads();
  unsigned t = tile;
  int i = t * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 63) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    atomicExch(&st[t], (t ? 1ull : 2ull) << 32 | (unsigned)total);
    for (int p = (int)t - 1; p >= 0;) {
      u64 w = *(volatile u64 *)&st[p];
      if (w >> 32 == 0) continue;
      run += (int)(unsigned)w;
      if (w >> 32 == 2) break;
      --p;
    }
    atomicExch(&st[t], 2ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel look_back_no_wait grid 6 block 64 orders wrong
// in x int32 = np.arange(384) % 7
// out y int32 = np.cumsum(x)
// inout st uint64 = np.zeros(6) -> _
// inout next uint32 = [0] -> [6]
extern "C" __global__ void look_back_no_wait(const int *x, int *y, u64 *st, unsigned *next) {
  __shared__ int s[64], prefix;
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1u);
  __syncthreads();
  unsigned t = tile;
  int i = t * 64 + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  if (threadIdx.x == 63) {
    int total = 0, run = 0;
    for (int k = 0; k < 64; ++k) s[k] = total += s[k];
    atomicExch(&st[t], (t ? 1ull : 2ull) << 32 | (unsigned)total);
    for (int p = (int)t - 1; p >= 0;) {
      u64 w = *(volatile u64 *)&st[p];
      run += (int)(unsigned)w;
      if (w >> 32 == 2) break;
      --p;
    }
    atomicExch(&st[t], 2ull << 32 | (unsigned)(run + total));
    prefix = run;
  }
  __syncthreads();
  y[i] = s[threadIdx.x] + prefix;
}

// kernel last_block_by_ticket grid 4 block 32
// in x int32 = np.arange(128)
// inout acc int32 = [0, 0] -> _
// out y int32 = [x.sum()]
extern "C" __global__ void last_block_by_ticket(const int *x, int *acc, int *y) {
  atomicAdd(&acc[0], x[blockIdx.x * 32 + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(&acc[1], 1) == gridDim.x - 1) *y = atomicAdd(&acc[0], 0);
}

// kernel last_block_by_number grid 4 block 32 orders wrong
// in x int32 = np.arange(128)
// inout acc int32 = [0, 0] -> _
// out y int32 = [x.sum()]
extern "C" __global__ void last_block_by_number(const int *x, int *acc, int *y) {
  atomicAdd(&acc[0], x[blockIdx.x * 32 + threadIdx.x]);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) *y = atomicAdd(&acc[0], 0);
}

// Slots that atomics draw: their order is not determined, what is in them is.
// kernel compacted grid 4 block 64
// in x int32 = np.arange(256) % 5
// inout ends int32 = [0, 0] -> [102, 154]
// inout y int32 = np.zeros(256) -> _
extern "C" __global__ void compacted(const int *x, int *ends, int *y) {
  int v = x[blockIdx.x * 64 + threadIdx.x];
  if (v > 2) y[atomicAdd(&ends[0], 1)] = v;
  else y[255 - atomicAdd(&ends[1], 1)] = v;
}

// kernel first_to_find grid 4 block 32
// in x int32 = np.where(np.arange(128) % 50 == 49, 7, 0)
// inout found int32 = [-1, 0] -> _
// out y int32 = [1]
extern "C" __global__ void first_to_find(const int *x, int *found, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  if (x[i] == 7 && atomicCAS(&found[0], -1, i) == -1) { atomicAdd(&found[1], 1); *y = 1; }
}
