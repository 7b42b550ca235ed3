// What comes first of scans, visited marks and divergent barriers that lack another barrier.

// kernel scan_in_branches_lacks_end grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// inout y int32 = np.zeros(64) -> _
// hints Put __syncthreads() after line E<, before the next iteration of the loop reaches line X<.
extern "C" __global__ void scan_in_branches_lacks_end(const int *x, int *y)
{
  __shared__ int s[2][64];
  int t = threadIdx.x, in = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int o = 1; o < 64; o *= 2) {
    if (t >= o) s[1 - in][t] = s[in][t] + s[in][t - o];  // <X <- race
    else s[1 - in][t] = s[in][t];  // <E
    in = 1 - in;
  }
  y[t] = s[in][t];
}

// kernel scan_in_branches grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// out y int32 = np.cumsum(x)
extern "C" __global__ void scan_in_branches(const int *x, int *y)
{
  __shared__ int s[2][64];
  int t = threadIdx.x, in = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int o = 1; o < 64; o *= 2) {
    if (t >= o) s[1 - in][t] = s[in][t] + s[in][t - o];
    else s[1 - in][t] = s[in][t];
    in = 1 - in;
    __syncthreads();
  }
  y[t] = s[in][t];
}

// Within one round, a branch reads what the other one writes: the end of the round orders nothing.

// kernel rounds_race_in_branches grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// inout y int32 = np.zeros(64) -> _
// hints Put __syncthreads() between two `if` statements
extern "C" __global__ void rounds_race_in_branches(const int *x, int *y)
{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int k = 0; k < 4; k++) {
    if (t < 32) s[t] = k;  // <- race
    else y[t] = s[63 - t];  // <- race
    __syncthreads();
  }
}

// An atomicCAS that marks what was visited is no lock: nothing frees it.

// kernel frontier_lacks_base grid 2 block 64
// in nb int32 = rng.integers(0, 100, 128)
// inout seen int32 = np.zeros(100) -> _
// inout out int32 = np.zeros(128) -> _
// inout n int32 = [0] -> _
// hints Put __syncthreads() between line B< and line R<.
extern "C" __global__ void frontier_lacks_base(const int *nb, int *seen, int *out, int *n)
{
  __shared__ int q[64];
  __shared__ int cnt, base;
  if (threadIdx.x == 0) cnt = 0;
  __syncthreads();
  int v = nb[blockIdx.x * 64 + threadIdx.x];
  for (int e = 0; e < 2; e++) {
    if (atomicCAS(&seen[v], 0, 1) == 0) q[atomicAdd(&cnt, 1)] = v;
  }
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(n, cnt);  // <B
  for (int i = threadIdx.x; i < cnt; i += 64) out[base + i] = q[i];  // <R <- race
}

// kernel frontier_with_base grid 2 block 64
// in nb int32 = rng.integers(0, 100, 128)
// inout seen int32 = np.zeros(100) -> _
// inout out int32 = np.zeros(128) -> _
// inout n int32 = [0] -> [len(set(nb))]
extern "C" __global__ void frontier_with_base(const int *nb, int *seen, int *out, int *n)
{
  __shared__ int q[64];
  __shared__ int cnt, base;
  if (threadIdx.x == 0) cnt = 0;
  __syncthreads();
  int v = nb[blockIdx.x * 64 + threadIdx.x];
  for (int e = 0; e < 2; e++) {
    if (atomicCAS(&seen[v], 0, 1) == 0) q[atomicAdd(&cnt, 1)] = v;
  }
  __syncthreads();
  if (threadIdx.x == 0) base = atomicAdd(n, cnt);
  __syncthreads();
  for (int i = threadIdx.x; i < cnt; i += 64) out[base + i] = q[i];
}

// A lock of an array of locks is one, and freed under another name.

// kernel lock_of_bin_given_up grid 4 block 1
// inout locks int32 = np.zeros(4) -> _
// inout sums int32 = np.zeros(4) -> _
// hints The loop around line L< may end without the lock, and line X< is executed all the same.
__device__ void release(int *lock)
{
  __threadfence();
  atomicExch(lock, 0);
}
extern "C" __global__ void lock_of_bin_given_up(int *locks, int *sums)
{
  int bin = 1;
  for (int tries = 0; tries < 1; tries++)
    if (atomicCAS(&locks[bin], 0, 1) == 0) break;  // <L
  __threadfence();
  sums[bin] += 1;  // <X <- race
  release(&locks[bin]);
}

// A barrier that threads of a block pass in different rounds: the one behind the loop is there.

// kernel barrier_in_uneven_rounds grid 1 block 64
// in x int32 = rng.integers(0, 9, 100)
// inout y int32 = np.zeros(64) -> _
// hints Move __syncthreads() out of the branch or loop that only some threads enter.
// finds race error read-after-write hazard on shared
extern "C" __global__ void barrier_in_uneven_rounds(const int *x, int *y)
{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  int sum = 0;
  for (int i = t; i < 100; i += 64) {
    sum += x[i];
    __syncthreads();  // <- barrier-divergence
  }
  s[t] = sum;
  __syncthreads();
  y[t] = s[63 - t];  // <- race
}

// Values in memory choose which element a thread writes: a barrier of the block orders nothing.

// kernel levels_of_neighbors grid 2 block 32
// in first int32 = np.arange(65) * 2
// in to int32 = np.stack([(np.arange(64) + 1) % 64, (np.arange(64) + 5) % 64], 1).ravel()
// inout level int32 = np.where(np.arange(64) < 1, 0, -1) -> _
// hints Values in memory choose the element
// hints Access it in line T< and line W< by atomics
extern "C" __global__ void levels_of_neighbors(const int *first, const int *to, int *level)
{
  int v = blockIdx.x * 32 + threadIdx.x;
  if (level[v] == 0) {  // <T <- race
    for (int e = first[v]; e < first[v + 1]; e++)
      if (level[to[e]] == -1) level[to[e]] = 1;  // <W <- race
  }
}

// kernel levels_from_neighbors grid 2 block 32
// in first int32 = np.arange(65) * 2
// in to int32 = np.stack([(np.arange(64) + 1) % 64, (np.arange(64) + 5) % 64], 1).ravel()
// inout level int32 = np.where(np.arange(64) < 3, 0, -1) -> _
// hints Values in memory choose the element
extern "C" __global__ void levels_from_neighbors(const int *first, const int *to, int *level)
{
  int v = blockIdx.x * 32 + threadIdx.x;
  if (level[v] == -1) {  // <- race
    for (int e = first[v]; e < first[v + 1]; e++)
      if (level[to[e]] == 0) {  // <- race
        level[v] = 1;  // <- race
        break;
      }
  }
}

// kernel levels_in_atomics grid 2 block 32
// in first int32 = np.arange(65) * 2
// in to int32 = np.stack([(np.arange(64) + 1) % 64, (np.arange(64) + 5) % 64], 1).ravel()
// inout level int32 = np.where(np.arange(64) < 1, 0, -1) -> np.where(np.isin(np.arange(64), (1, 5)), 1, np.where(np.arange(64) < 1, 0, -1))
extern "C" __global__ void levels_in_atomics(const int *first, const int *to, int *level)
{
  int v = blockIdx.x * 32 + threadIdx.x;
  if (atomicAdd(&level[v], 0) == 0) {
    for (int e = first[v]; e < first[v + 1]; e++) atomicCAS(&level[to[e]], -1, 1);
  }
}

// The condition's element is the thread's own, and no value in memory chooses another one.

// kernel neighbor_behind_condition grid 1 block 64
// inout a int32 = rng.integers(0, 2, 64) -> _
// hints Put __syncthreads() before the `if` of line T<
extern "C" __global__ void neighbor_behind_condition(int *a)
{
  int t = threadIdx.x;
  if (a[t] == 0) {  // <T <- race
    a[t ^ 32] = 7;  // <- race
  }
}

// kernel counter_capped_beside_atomic grid 1 block 32
// in x int32 = rng.integers(0, 2, 32)
// inout y int32 = np.zeros(32) -> _
// hints Line W< writes plainly what the atomic of line A< updates meanwhile.
extern "C" __global__ void counter_capped_beside_atomic(const int *x, int *y)
{
  __shared__ int n;
  int t = threadIdx.x;
  if (t == 0) n = 0;
  __syncthreads();
  if (t < 20) {
    for (int k = 0; k < x[t]; k++) {
      int at = atomicAdd(&n, 1);  // <A <- race
      if (at < 4) y[at] = t;
      else n = 4;  // <W <- race
    }
  }
}

// In the first round only lanes of one warp conflict; later ones are of the whole block.

// kernel sum_lacks_first_barrier grid 1 block 128
// in x int32 = rng.integers(0, 9, 128)
// inout y int32 = np.zeros(1) -> _
// hints Put __syncthreads() between line W< and line L<.
extern "C" __global__ void sum_lacks_first_barrier(const int *x, int *y)
{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];  // <W
  for (int k = 1; k < 128; k *= 2) {  // <L
    if (t % (2 * k) == 0) s[t] += s[t + k];  // <- race
    __syncthreads();
  }
  if (t == 0) *y = s[0];
}

// Each row of the tile is of one warp.

// kernel rows_of_warps_lack_barrier grid 1 block 32,4
// in x int32 = rng.integers(0, 9, (4, 32))
// inout y int32 = np.zeros((4, 32)) -> _
// hints Put __syncwarp() between line W< and line R<.
extern "C" __global__ void rows_of_warps_lack_barrier(const int *x, int *y)
{
  __shared__ int s[4][32];
  int t = threadIdx.x, row = threadIdx.y;
  s[row][t] = x[row * 32 + t];  // <W
  y[row * 32 + t] = s[row][31 - t];  // <R <- race
}

// The last warp alone sums what all have written: a barrier of the block has no place there.

// kernel last_warp_lacks_barriers grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// inout y int32 = np.zeros(1) -> _
// hints Put __syncwarp()
extern "C" __global__ void last_warp_lacks_barriers(const int *x, int *y)
{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    if (t < 16) s[t] += s[t + 16];  // <- race
    if (t == 0) {
      int sum = 0;
      for (int k = 0; k < 16; k++) sum += s[k];  // <- race
      *y = sum;
    }
  }
}
