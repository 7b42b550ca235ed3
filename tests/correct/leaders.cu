// One thread signals for a warp, or for a block, before the others have arrived.

// kernel lane_signals_early grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// inout y int32 = np.zeros(32) -> _
// hints The thread in line S< signals other warps while lanes of its own may not have executed line W<.
// hints put __syncwarp() before line S<.
extern "C" __global__ void lane_signals_early(const int *x, int *y)
{
  __shared__ int s[32];
  __shared__ int flag;
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    s[lane] = x[lane];  // <W
    __threadfence_block();
    if (lane == 0) atomicExch(&flag, 1);  // <S
  } else {
    if (lane == 0) while (atomicAdd(&flag, 0) == 0) {}
    __threadfence_block();
    __syncwarp();
    y[lane] = s[31 - lane];  // <- race
  }
}

// kernel lane_signals grid 1 block 64
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = x[::-1]
extern "C" __global__ void lane_signals(const int *x, int *y)
{
  __shared__ int s[32];
  __shared__ int flag;
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    s[lane] = x[lane];
    __syncwarp();
    __threadfence_block();
    if (lane == 0) atomicExch(&flag, 1);
  } else {
    if (lane == 0) while (atomicAdd(&flag, 0) == 0) {}
    __threadfence_block();
    __syncwarp();
    y[lane] = s[31 - lane];
  }
}

// The consumer's lane 0 frees the buffer while other lanes still read it.
// kernel lane_frees_early grid 1 block 64
// in x int32 = rng.integers(0, 99, 128)
// inout y int32 = np.zeros(128) -> _
// hints The thread in line S< signals other warps while lanes of its own may not have executed line R<.
// hints put __syncwarp() before line S<.
extern "C" __global__ void lane_frees_early(const int *x, int *y)
{
  __shared__ int buffer[32];
  __shared__ volatile int full;
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 0; k < 4; k++) {
      if (lane == 0) while (full) {}
      __syncwarp();
      __threadfence_block();
      buffer[lane] = x[k * 32 + lane];  // <- race
      __threadfence_block();
      __syncwarp();
      if (lane == 0) full = 1;
    }
  } else {
    for (int k = 0; k < 4; k++) {
      if (lane == 0) while (!full) {}
      __syncwarp();
      __threadfence_block();
      y[k * 32 + lane] = buffer[lane];  // <R <- race
      __threadfence_block();
      if (lane == 0) full = 0;  // <S
    }
  }
}

// kernel lane_frees grid 1 block 64
// in x int32 = rng.integers(0, 99, 128)
// out y int32 = x
extern "C" __global__ void lane_frees(const int *x, int *y)
{
  __shared__ int buffer[32];
  __shared__ volatile int full;
  int lane = threadIdx.x % 32;
  if (threadIdx.x == 0) full = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int k = 0; k < 4; k++) {
      if (lane == 0) while (full) {}
      __syncwarp();
      __threadfence_block();
      buffer[lane] = x[k * 32 + lane];
      __threadfence_block();
      __syncwarp();
      if (lane == 0) full = 1;
    }
  } else {
    for (int k = 0; k < 4; k++) {
      if (lane == 0) while (!full) {}
      __syncwarp();
      __threadfence_block();
      y[k * 32 + lane] = buffer[lane];
      __threadfence_block();
      __syncwarp();
      if (lane == 0) full = 0;
    }
  }
}

// The last block walks a list: atomic links would end the race, and nodes would still be missing.
// kernel walk_before_all_pushed grid 4 block 32
// inout head int32 = [-1] -> _
// inout next int32 = np.zeros(128) -> _
// inout done int32 = [0] -> _
// inout length int32 = [0] -> _
// hints The thread in line S< signals other blocks while threads of its own may not have executed
// hints put __syncthreads() before line S<.
extern "C" __global__ void walk_before_all_pushed(int *head, int *next, int *done, int *length)
{
  int me = blockIdx.x * 32 + threadIdx.x;
  next[me] = atomicExch(head, me);  // <- race
  __threadfence();
  if (threadIdx.x == 0 && atomicAdd(done, 1) == gridDim.x - 1) {  // <S
    __threadfence();
    int n = 0;
    for (int p = atomicAdd(head, 0); p != -1; p = next[p]) n++;  // <- race
    *length = n;
  }
}

// kernel walk_of_all_pushed grid 4 block 32
// inout head int32 = [-1] -> _
// inout next int32 = np.zeros(128) -> _
// inout done int32 = [0] -> _
// inout length int32 = [0] -> [128]
extern "C" __global__ void walk_of_all_pushed(int *head, int *next, int *done, int *length)
{
  int me = blockIdx.x * 32 + threadIdx.x;
  next[me] = atomicExch(head, me);
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && atomicAdd(done, 1) == gridDim.x - 1) {
    __threadfence();
    int n = 0;
    for (int p = atomicAdd(head, 0); p != -1; p = next[p]) n++;
    *length = n;
  }
}

// A leader signals before its lanes have written: the signal belongs behind a barrier of the warp.

// kernel leader_signals_before_the_write grid 1 block 64
// inout out int32 = np.zeros(32) -> _
// hints Put the statement of line S< after line W<, and call __syncwarp() and then __threadfence_block()
extern "C" __global__ void leader_signals_before_the_write(int *out)
{
  __shared__ int s[32];
  __shared__ volatile int ready;
  int t = threadIdx.x, lane = t & 31;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    if (lane == 0) { __threadfence_block(); ready = 1; }  // <S
    s[lane] = lane * 3;  // <W
  } else {
    if (lane == 0) while (!ready) { }
    __syncwarp();
    __threadfence_block();
    out[lane] = s[lane];  // <- race
  }
}

// One thread signals for a block that has not written yet: a barrier or a fence alone is not enough.

// kernel block_signals_without_barrier grid 2 block 32
// inout data int32 = np.zeros(32) -> _
// inout flag int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(32) -> _
// hints Let them all arrive first: put __syncthreads() and then __threadfence() before line S<.
extern "C" __global__ void block_signals_without_barrier(int *data, int *flag, int *out)
{
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t + 1;
    if (t == 0) atomicExch(flag, 1);  // <S
  } else {
    if (t == 0) {
      while (atomicAdd(flag, 0) == 0) { }
      __threadfence();
    }
    __syncthreads();
    out[t] = data[t];  // <- race
  }
}

// kernel block_waits_without_barrier grid 2 block 32
// inout data int32 = np.zeros(32) -> _
// inout flag int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(32) -> _
// hints Let them all wait: put __threadfence() and then __syncthreads() after line R<.
extern "C" __global__ void block_waits_without_barrier(int *data, volatile int *flag, int *out)
{
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t + 1;
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) while (*flag == 0) { }  // <R
    out[t] = data[t];  // <- race
  }
}

// kernel block_signals_by_a_narrow_fence grid 2 block 32
// inout data int32 = np.zeros(32) -> _
// inout flag int32 = np.zeros(1) -> _
// inout out int32 = np.zeros(32) -> _
// hints put __syncthreads() and then __threadfence() before line S<.
extern "C" __global__ void block_signals_by_a_narrow_fence(int *data, volatile int *flag, int *out)
{
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t + 1;
    __threadfence_block();
    if (t == 0) *flag = 1;  // <S
  } else {
    while (*flag == 0) { }
    __threadfence();
    out[t] = data[t];  // <- race
  }
}
