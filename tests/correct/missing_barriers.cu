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
// hints Threads may make different numbers of iterations of the loop of line L<: let all make the same
// finds race error read-after-write hazard on shared
extern "C" __global__ void barrier_in_uneven_rounds(const int *x, int *y)
{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  int sum = 0;
  for (int i = t; i < 100; i += 64) {  // <L
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

// Where a barrier of the block ends a race, a kernel that knows of no warps needs no other one,
// though the lanes of one warp alone conflict in this launch.

// kernel sum_lacks_barrier grid 1 block 64
// in x int32 = np.ones(64)
// inout y int32 = np.zeros(1) -> _
// hints Put __syncthreads() after line S<, before the next iteration of the loop reaches line S<.
extern "C" __global__ void sum_lacks_barrier(const int *x, int *y)
{
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int o = blockDim.x / 2; o > 0; o /= 2) {
    if (t < o) s[t] += s[t + o];  // <S <- race
  }
  if (t == 0) *y = s[0];
}

// A level of a search ends before its queue is reset: no atomic makes up for the barrier.

// kernel levels_reset_early grid 1 block 64
// in row int32 = np.arange(0, 129, 2)
// in col int32 = [(2 * i + 1 + k) % 64 for i in range(64) for k in range(2)]
// inout dist int32 = np.r_[0, np.full(63, -1)] -> _
// hints Put __syncthreads() between line B< and line R<.
extern "C" __global__ void levels_reset_early(const int *row, const int *col, int *dist)
{
  __shared__ int queue[2][64], size[2];
  int t = threadIdx.x, now = 0;
  if (t == 0) { queue[0][0] = 0; size[0] = 1; size[1] = 0; }
  __syncthreads();
  for (int level = 1; size[now] > 0; level++) {
    for (int k = t; k < size[now]; k += blockDim.x) {
      int v = queue[now][k];
      for (int e = row[v]; e < row[v + 1]; e++)
        if (atomicCAS(&dist[col[e]], -1, level) == -1)
          queue[1 - now][atomicAdd(&size[1 - now], 1)] = col[e];
    }  // <B
    if (t == 0) size[now] = 0;  // <R <- race
    now = 1 - now;
    __syncthreads();  // <- barrier-divergence
  }
}

// kernel levels grid 1 block 64
// in row int32 = np.arange(0, 129, 2)
// in col int32 = [(2 * i + 1 + k) % 64 for i in range(64) for k in range(2)]
// inout dist int32 = np.r_[0, np.full(63, -1)] -> np.floor(np.log2(np.arange(64) + 1))
extern "C" __global__ void levels(const int *row, const int *col, int *dist)
{
  __shared__ int queue[2][64], size[2];
  int t = threadIdx.x, now = 0;
  if (t == 0) { queue[0][0] = 0; size[0] = 1; size[1] = 0; }
  __syncthreads();
  for (int level = 1; size[now] > 0; level++) {
    for (int k = t; k < size[now]; k += blockDim.x) {
      int v = queue[now][k];
      for (int e = row[v]; e < row[v + 1]; e++)
        if (atomicCAS(&dist[col[e]], -1, level) == -1)
          queue[1 - now][atomicAdd(&size[1 - now], 1)] = col[e];
    }
    __syncthreads();
    if (t == 0) size[now] = 0;
    now = 1 - now;
    __syncthreads();
  }
}

// kernel levels_lack_barriers grid 1 block 32
// in row int32 = np.arange(0, 129, 2)
// in col int32 = [(2 * i + 1 + k) % 64 for i in range(64) for k in range(2)]
// inout dist int32 = np.r_[0, np.full(63, -1)] -> _
// hints Put __syncthreads() between line L< and line F<, and after line E<, before the next
extern "C" __global__ void levels_lack_barriers(const int *row, const int *col, int *dist)
{
  __shared__ int queue[64], tail;
  int t = threadIdx.x, first = 0;
  if (t == 0) { queue[0] = 0; tail = 1; }
  __syncthreads();
  for (int level = 1; first < 63; level++) {
    int last = tail;  // <L <- race
    for (int k = first + t; k < last; k += blockDim.x) {  // <F
      int v = queue[k];
      for (int e = row[v]; e < row[v + 1]; e++)
        if (atomicCAS(&dist[col[e]], -1, level) == -1)
          queue[atomicAdd(&tail, 1)] = col[e];
    }  // <E
    first = last;
  }
}

// The barrier belongs behind the read, which is of what the next round writes.

// kernel buffers_lack_barrier grid 1 block 64
// in x int32 = np.arange(512)
// inout y int32 = np.zeros(64) -> _
// hints Put __syncthreads() after line R<, before the next iteration of the loop reaches line W<.
extern "C" __global__ void buffers_lack_barrier(const int *x, int *y)
{
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  s[0][t] = x[t];
  __syncthreads();
  for (int k = 0; k < 8; k++) {
    if (k + 1 < 8) s[(k + 1) % 2][t] = x[(k + 1) * 64 + t];  // <W
    sum += s[k % 2][63 - t];  // <R <- race
  }
  y[t] = sum;
}

// Lanes that a shuffle reads in vain are no sign that a barrier fits nowhere.

// kernel sums_of_warps_lack_barrier grid 1 block 128
// in x int32 = np.ones(128)
// inout y int32 = np.zeros(1) -> _
// hints Put __syncthreads() between line P< and line N<.
extern "C" __global__ void sums_of_warps_lack_barrier(const int *x, int *y)
{
  __shared__ int part[4];
  int t = threadIdx.x, v = x[t];
  for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (t % 32 == 0) part[t / 32] = v;  // <P
  if (t < 4) {  // <N
    v = part[t];  // <- race
    for (int o = 2; o; o /= 2) v += __shfl_down_sync(0xf, v, o);
    if (t == 0) *y = v;
  }
}

// The last statement of a loop's body sets what its condition tests: the barrier belongs behind it.

// kernel frontier_lacks_barrier grid 1 block 64
// in next int32 = (np.arange(64) * 2 + 1) % 64
// inout dist int32 = np.r_[0, np.full(63, -1)] -> _
// hints Put __syncthreads() after line L<, before the next iteration of the loop reaches line W<.
extern "C" __global__ void frontier_lacks_barrier(const int *next, int *dist)
{
  __shared__ int queue[2][64], count, found;
  int t = threadIdx.x, level = 0;
  if (t == 0) { queue[0][0] = 0; count = 1; found = 0; }
  __syncthreads();
  while (count > 0) {  // <W <- race
    ++level;
    for (int i = t; i < count; i += blockDim.x) {
      int v = next[queue[(level + 1) % 2][i]];
      if (atomicCAS(&dist[v], -1, level) == -1) queue[level % 2][atomicAdd(&found, 1)] = v;
    }
    __syncthreads();  // <- barrier-divergence
    if (t == 0) { count = found; found = 0; }  // <L
  }
}

// kernel frontier_of_three_counts grid 1 block 64
// in next int32 = (np.arange(64) * 2 + 1) % 64
// inout dist int32 = np.r_[0, np.full(63, -1)] -> _
extern "C" __global__ void frontier_of_three_counts(const int *next, int *dist)
{
  __shared__ int queue[2][64], count[3];
  int t = threadIdx.x, level = 0;
  if (t == 0) { queue[0][0] = 0; count[0] = 1; count[1] = count[2] = 0; }
  __syncthreads();
  while (count[level % 3] > 0) {
    int *found = &count[++level % 3];
    for (int i = t; i < count[(level + 2) % 3]; i += blockDim.x) {
      int v = next[queue[(level + 1) % 2][i]];
      if (atomicCAS(&dist[v], -1, level) == -1) queue[level % 2][atomicAdd(found, 1)] = v;
    }
    if (t == 0) count[(level + 1) % 3] = 0;
    __syncthreads();
  }
}

// One barrier orders two reads, though it is at the end of no round.

// kernel window_lacks_barrier grid 1 block 128
// inout q int32 = np.arange(128) -> _
// hints Put __syncthreads() between line S< and line D<.
struct Window { int from; bool done; };
extern "C" __global__ void window_lacks_barrier(int *q)
{
  __shared__ Window w;
  if (threadIdx.x == 0) w = {0, false};
  __syncthreads();
  for (;;) {
    int i = w.from + threadIdx.x;  // <- race
    if (i < 128) q[i] += 1;
    __syncthreads();  // <- barrier-divergence
    if (threadIdx.x == 0) { w.from += 32; w.done = w.from >= 128; }  // <S
    if (w.done) break;  // <D <- race
  }
}

// A round that ends early passes by what is at the end of the loop's body.

// kernel rounds_end_early grid 1 block 64
// in x int32 = np.arange(640)
// out y int32 = np.zeros(64)
// hints Put __syncthreads() before line W<, in each iteration of the loop.
extern "C" __global__ void rounds_end_early(const int *x, int *y)
{
  __shared__ int s[64];
  int sum = 0;
  for (int k = 0; k < 10; k++) {
    s[threadIdx.x] = x[64 * k + threadIdx.x];  // <W <- race
    __syncthreads();
    if (k % 2) {
      sum += s[63 - threadIdx.x];
      continue;
    }
    sum -= s[(threadIdx.x + 5) % 64];
    __syncthreads();
  }
  y[threadIdx.x] = sum;
}

// kernel bins_in_dynamic_memory grid 1 block 64 shared 256
// in x int32 = np.arange(64) * 5 % 64
// out y int32 = np.ones(64)
extern "C" __global__ void bins_in_dynamic_memory(const int *x, int *y) {
  extern __shared__ int bins[];
  bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[x[threadIdx.x]], 1);
  __syncthreads();
  y[threadIdx.x] = bins[threadIdx.x];
}

// kernel bins_counted_before_they_are_set grid 1 block 64 shared 256
// in x int32 = np.arange(64) * 5 % 64
// out y int32 = np.ones(64)
// hints Threads update `bins` before another thread has set it. Put __syncthreads() between line a< and line b<
extern "C" __global__ void bins_counted_before_they_are_set(const int *x, int *y) {
  extern __shared__ int bins[];
  bins[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (bins[63 - threadIdx.x] < 0) return;
  __syncthreads();
  bins[threadIdx.x] = 0;  // <a <- race
  atomicAdd(&bins[x[threadIdx.x]], 1);  // <b <- race
  __syncthreads();
  y[threadIdx.x] = bins[threadIdx.x];
}

// Without the barrier the optimizer gives thread 0, which knows `last`, a way of its own.
// kernel shuffle_behind_an_unset_flag grid 4 block 64
// inout part int32 = np.zeros(4) -> _
// inout ticket uint32 = [0] -> _
// out y int32 = [8064]
// hints Threads read `last` before other threads have written it. Put __syncthreads() between line a< and line b<
extern "C" __global__ void shuffle_behind_an_unset_flag(int *part, unsigned *ticket, int *y) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  for (int h = 32; h; h >>= 1) {
    if (t < h) s[t] += s[t + h];
    __syncthreads();
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];  // <- race
    __threadfence();
    last = atomicInc(ticket, gridDim.x) == gridDim.x - 1;  // <- race
  }  // <a
  if (last) {  // <b <- race
    int v = t < gridDim.x ? part[t] : 0;  // <- race
    for (int d = 2; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);  // <- barrier-divergence
    if (t == 0) *y = v;
  }
}

// What is read before a barrier may be used after it: a write beside the read makes a race of it, a write beside the use does not.
// kernel shifted_in_place grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.roll(np.arange(64), -1)
extern "C" __global__ void shifted_in_place(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  int next = s[(t + 1) % 64];
  __syncthreads();
  s[t] = next;
  __syncthreads();
  y[t] = s[t];
}

// kernel shifted_too_early grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.roll(np.arange(64), -1)
// hints Threads read `s` before other threads have written it. Put __syncthreads() between line a< and line b<
extern "C" __global__ void shifted_too_early(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];  // <a <- race
  int next = s[(t + 1) % 64];  // <b <- race
  __syncthreads();
  s[t] = next;
  __syncthreads();
  y[t] = s[t] + 1;
}

// kernel sum_used_behind_a_barrier grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.ones(64)
// hints Put __syncthreads() between line a< and line b<
extern "C" __global__ void sum_used_behind_a_barrier(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];  // <a <- race
  int other = s[63 - t];  // <b <- race
  __syncthreads();
  y[t] = s[t] + other;
}

// kernel half_set_later grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.ones(64)
extern "C" __global__ void half_set_later(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 32) s[t] = x[t];
  __syncthreads();
  int other = s[t];  // <- uninitialized-read
  __syncthreads();
  if (t < 32) s[t + 32] = x[t];
  y[t] = other + 1;
  __syncthreads();
  y[t] += s[t];
}

// kernel half_set_before grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(64) + 1 + np.r_[np.arange(32), np.arange(32)]
extern "C" __global__ void half_set_before(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  int other = s[t];
  __syncthreads();
  if (t < 32) s[t + 32] = x[t];
  y[t] = other + 1;
  __syncthreads();
  y[t] += s[t];
}

// kernel lanes_sum_in_step grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = [2016]
// hints Put __syncwarp() between the read and the write in line N<, and after line N<, before the next iteration of the loop reaches line N<. Read into a local variable first.
extern "C" __global__ void lanes_sum_in_step(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    for (int d = 32; d; d >>= 1) {
      s[t] += s[t + d];  // <N <- race
    }
  }
  if (t == 0) *y = s[0];
}

// kernel lanes_sum_in_two_steps grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = [2016]
extern "C" __global__ void lanes_sum_in_two_steps(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  if (t < 32) {
    for (int d = 32; d; d >>= 1) {
      int v = s[t + d];
      __syncwarp();
      s[t] += v;
      __syncwarp();
    }
  }
  if (t == 0) *y = s[0];
}

__device__ int scan_step(int *s, int d) {
  int t = threadIdx.x;
  int v = t >= d ? s[t - d] : 0;
  __syncthreads();
  s[t] += v;
  return s[t];
}

// kernel steps_of_a_function grid 1 block 64
// in x int32 = np.ones(64)
// out y int32 = np.arange(1, 65)
extern "C" __global__ void steps_of_a_function(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, v = 0;
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    v = scan_step(s, d);
    __syncthreads();
  }
  y[t] = v;
}

// kernel steps_of_a_function_meet_once grid 1 block 64
// in x int32 = np.ones(64)
// out y int32 = np.arange(1, 65)
// hints Put __syncthreads() after line N<, before the next iteration of the loop reaches line N<.
__device__ int next_step(int *s, int d) {
  int t = threadIdx.x;
  int v = t >= d ? s[t - d] : 0;  // <- race
  __syncthreads();
  s[t] += v;
  return s[t];
}
extern "C" __global__ void steps_of_a_function_meet_once(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, v = 0;
  s[t] = x[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    v = next_step(s, d);  // <N
  }
  y[t] = v;
}

// kernel sums_meet_in_each_round grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.full(64, 2016)
extern "C" __global__ void sums_meet_in_each_round(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  y[t] = s[0];
}

// kernel sums_do_not_meet_last grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.full(64, 2016)
// hints Threads read `s` before other threads have written it. `d > max(1, 0)` in line N< leaves out the barrier of line N< at times. Put the barrier after line N<, outside the `if`. A run with that does not have this race.
extern "C" __global__ void sums_do_not_meet_last(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    if (d > max(1, 0)) __syncthreads();  // <N
  }
  y[t] = s[0];  // <- race
}

// kernel sums_of_lanes_do_not_meet_last grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.full(32, 496)
// hints `d > 1` in line M< leaves out the barrier of line N< at times. Put the barrier after line E<, outside the `if`.
extern "C" __global__ void sums_of_lanes_do_not_meet_last(const int *x, int *y) {
  __shared__ int s[32];
  int lane = threadIdx.x;
  s[lane] = x[lane];
  __syncwarp();
  for (int d = 16; d > 0; d >>= 1) {
    if (lane < d) s[lane] += s[lane + d];
    if (d > 1) {  // <M
      __syncwarp();  // <N
    }  // <E
  }
  y[lane] = s[0];  // <- race
}

// kernel tiles_meet_from_the_second_on grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = np.arange(256).reshape(4, 64)[:, ::-1].sum(0)
extern "C" __global__ void tiles_meet_from_the_second_on(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (k > 0) __syncthreads();
    s[t] = x[k * 64 + t];
    __syncthreads();
    sum += s[63 - t];
  }
  y[t] = sum;
}

// kernel tiles_meet_from_the_third_on grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = np.arange(256).reshape(4, 64)[:, ::-1].sum(0)
// hints Threads overwrite `s` before other threads have read it. `k > 1` in line N< leaves out the barrier of line N< at times.
extern "C" __global__ void tiles_meet_from_the_third_on(const int *x, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int k = 0; k < 4; ++k) {
    if (k > 1) __syncthreads();  // <N
    s[t] = x[k * 64 + t];  // <- race
    __syncthreads();
    sum += s[63 - t];
  }
  y[t] = sum;
}

// What a function compares and exchanges, the next round of the loop that calls it reads.

// kernel merged_by_function_lacks_barrier grid 1 block 64
// in x int32 = np.append(np.sort(rng.integers(0, 999, 64)), np.sort(rng.integers(0, 999, 64))[::-1])
// inout y int32 = np.zeros(128) -> _
// hints Put __syncthreads() after line M<, before the next iteration of the loop reaches line M<.
__device__ void sort_two(int &a, int &b, bool up) {
  if ((a > b) == up) {  // <- race
    int t = a;
    a = b;
    b = t;
  }
}

extern "C" __global__ void merged_by_function_lacks_barrier(const int *x, int *y)
{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  s[t + 64] = x[t + 64];
  for (int stride = 64; stride > 0; stride /= 2) {
    int at = 2 * t - (t & (stride - 1));
    sort_two(s[at], s[at + stride], true);  // <M
  }
  __syncthreads();
  y[t] = s[t];
  y[t + 64] = s[t + 64];
}

// kernel sorted_by_function grid 1 block 64
// in x int32 = rng.integers(0, 999, 128)
// out y int32 = np.sort(x)
extern "C" __global__ void sorted_by_function(const int *x, int *y)
{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  s[t + 64] = x[t + 64];
  for (int size = 2; size <= 128; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      int at = 2 * t - (t & (stride - 1));
      sort_two(s[at], s[at + stride], size == 128 || !(t & size / 2));
    }
  }
  __syncthreads();
  y[t] = s[t];
  y[t + 64] = s[t + 64];
}

// A read that comes before the write finds no value, and what it finds decides where the next round writes.

// kernel turned_by_counts grid 1 block 128
// in x uint32 = rng.integers(0, 2**8, 128)
// out y uint32 = np.roll(x, sum((x >> b & 1).sum() for b in range(8)))
extern "C" __global__ void turned_by_counts(const unsigned *x, unsigned *y)
{
  __shared__ unsigned s[128];
  int t = threadIdx.x;
  unsigned v = x[t];
  for (int b = 0; b < 8; b++) {
    int count = __syncthreads_count(v >> b & 1);
    s[(t + count) % 128] = v;
    __syncthreads();
    v = s[t];
  }
  y[t] = v;
}

// kernel turned_by_counts_lacks_barrier grid 1 block 128
// in x uint32 = rng.integers(0, 2**8, 128)
// inout y uint32 = np.zeros(128) -> _
// hints Put __syncthreads() between line W< and line R<.
extern "C" __global__ void turned_by_counts_lacks_barrier(const unsigned *x, unsigned *y)
{
  __shared__ unsigned s[128];
  int t = threadIdx.x;
  unsigned v = x[t];
  for (int b = 0; b < 8; b++) {
    int count = __syncthreads_count(v >> b & 1);
    s[(t + count) % 128] = v;  // <W <- uninitialized-read
    v = s[t];  // <R <- race
  }
  y[t] = v;
}

// The same of a function that the compiler inlines: one place for what two calls of a round race with.

// kernel merged_in_rounds_lacks_barrier grid 1 block 64
// in x int32 = rng.integers(0, 999, 128)
// inout y int32 = np.zeros(128) -> _
// hints Put __syncthreads() before line M<, in each iteration of the loop.
__device__ __forceinline__ void order_two(int &a, int &b) {
  if (a > b) { int t = a; a = b; b = t; }  // <- race
}

extern "C" __global__ void merged_in_rounds_lacks_barrier(const int *x, int *y)
{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  s[t + 64] = x[t + 64];
  for (int size = 2; size <= 128; size *= 2) {
    int stride = size / 2, offset = t & (stride - 1), at = 2 * t - offset;
    __syncthreads();
    order_two(s[at], s[at + stride]);
    while ((stride /= 2) > 0) {
      at = 2 * t - (t & (stride - 1));
      if (offset >= stride) order_two(s[at - stride], s[at]);  // <M
    }
  }
  __syncthreads();
  y[t] = s[t];
  y[t + 64] = s[t + 64];
}

// kernel merged_in_rounds grid 1 block 64
// in x int32 = rng.integers(0, 999, 128)
// out y int32 = np.sort(x)
extern "C" __global__ void merged_in_rounds(const int *x, int *y)
{
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = x[t];
  s[t + 64] = x[t + 64];
  for (int size = 2; size <= 128; size *= 2) {
    int stride = size / 2, offset = t & (stride - 1), at = 2 * t - offset;
    __syncthreads();
    order_two(s[at], s[at + stride]);
    while ((stride /= 2) > 0) {
      at = 2 * t - (t & (stride - 1));
      __syncthreads();
      if (offset >= stride) order_two(s[at - stride], s[at]);
    }
  }
  __syncthreads();
  y[t] = s[t];
  y[t + 64] = s[t + 64];
}
