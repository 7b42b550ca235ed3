// kernel whole_sum grid 4 block 64 cooperative yes
// in x int32 = rng.integers(0, 99, 256)
// inout y int32 = np.zeros(257) -> np.append(x, x.sum())
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void whole_sum(const int *x, int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = x[grid.thread_rank()];
  grid.sync();
  if (grid.thread_rank() == 0) {
    int sum = 0;
    for (int i = 0; i < grid.size(); i++) sum += y[i];
    y[256] = sum;
  }
}

// kernel rounds grid 3 block 32 cooperative yes
// in x int32 = rng.integers(0, 99, 96)
// inout a int32 = x -> np.roll(x, 4)
// out b int32 = np.roll(x, 3)
extern "C" __global__ void rounds(const int *x, int *a, int *b) {
  cg::grid_group grid = cg::this_grid();
  int t = grid.thread_rank(), n = grid.size();
  int *from = a, *to = b;
  for (int k = 0; k < 4; k++) {
    to[(t + 1) % n] = from[t];
    grid.sync();
    int *was = from;
    from = to;
    to = was;
  }
}

// kernel not_cooperative grid 2 block 32
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = x
// finds launch-failure error grid.sync() waits for the other blocks, but this launch is not cooperative
extern "C" __global__ void not_cooperative(const int *x, int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = x[grid.thread_rank()];
  grid.sync();
}

// kernel groups_of_the_grid grid 2 block 32
// out y int32 = np.arange(64)
extern "C" __global__ void groups_of_the_grid(int *y) {
  cg::grid_group grid = cg::this_grid();
  y[grid.thread_rank()] = grid.thread_rank();
}

// A round without a barrier races within a warp and between blocks: the pair of blocks is shown.
// kernel round_without_barrier grid 2 block 32 cooperative yes
// in x float32 = np.arange(64)
// inout a float32 = np.zeros(64) -> _
// inout b float32 = np.zeros(64) -> _
// finds race error between two blocks
extern "C" __global__ void round_without_barrier(const float *x, float *a, float *b) {
  auto grid = cooperative_groups::this_grid();
  int i = grid.thread_rank();
  a[i] = x[i];
  grid.sync();
  float *from = a, *to = b;
  for (int round = 0; round < 4; round++) {
    to[i] = from[(i + 1) % 64] + from[(i + 63) % 64];
    if (round != 1) grid.sync();
    float *other = from;
    from = to;
    to = other;
  }
}

// kernel rounds_with_barriers grid 2 block 32 cooperative yes
// in x float32 = np.arange(64)
// inout a float32 = np.zeros(64) -> np.roll(x, 2) + 2 * x + np.roll(x, -2)
// inout b float32 = np.zeros(64) -> _
extern "C" __global__ void rounds_with_barriers(const float *x, float *a, float *b) {
  auto grid = cooperative_groups::this_grid();
  int i = grid.thread_rank();
  a[i] = x[i];
  grid.sync();
  float *from = a, *to = b;
  for (int round = 0; round < 2; round++) {
    to[i] = from[(i + 1) % 64] + from[(i + 63) % 64];
    grid.sync();
    float *other = from;
    from = to;
    to = other;
  }
}

// A race within a warp alone is shown as one: the warps share nothing before the barrier.
// kernel warp_parts_without_barrier grid 2 block 32 cooperative yes
// in x float32 = np.arange(64)
// inout a float32 = np.zeros(64) -> _
// out y float32 = x
// finds race error within a warp
extern "C" __global__ void warp_parts_without_barrier(const float *x, float *a, float *y) {
  auto grid = cooperative_groups::this_grid();
  int i = grid.thread_rank();
  a[i] = x[i];
  float next = a[i ^ 1];
  grid.sync();
  y[i] = next + a[63 - i];
}

// A warp's lanes race, and so do the blocks.
// kernel rounds_until_another_block_counts grid 2 block 32 cooperative yes
// inout y int32 = np.zeros(64) -> _
// inout count int32 = np.zeros(1) -> _
// hints Put a barrier of all blocks (grid.sync()) after line a<, before the next iteration of the loop reaches line b<
extern "C" __global__ void rounds_until_another_block_counts(int *y, int *count) {
  auto grid = cg::this_grid();
  int i = grid.thread_rank(), rounds = 1;
  if (i == 0) *count = 1;
  grid.sync();
  for (int round = 0; round < rounds; round++) {
    y[i] += round;
    if (i == 0 && round < 3) atomicAdd(count, 1);  // <b <- race
    grid.sync();
    rounds = *count;  // <a <- race
  }
}

// kernel rounds_that_wait_for_the_count grid 2 block 32 cooperative yes
// inout y int32 = np.zeros(64) -> np.full(64, 6)
// inout count int32 = np.zeros(1) -> [4]
extern "C" __global__ void rounds_that_wait_for_the_count(int *y, int *count) {
  auto grid = cg::this_grid();
  int i = grid.thread_rank(), rounds = 1;
  if (i == 0) *count = 1;
  grid.sync();
  for (int round = 0; round < rounds; round++) {
    y[i] += round;
    if (i == 0 && round < 3) atomicAdd(count, 1);
    grid.sync();
    rounds = *count;
    grid.sync();
  }
}

// Wrong: the barrier is one of the block.
// kernel synced_by_the_block grid 4 block 32 cooperative yes
// in x int32 = np.arange(128)
// inout tmp int32 = np.zeros(128) -> _
// out y int32 = (x * 2)[::-1]
// hints Put a barrier of all blocks (grid.sync()) between line A< and line B<.
extern "C" __global__ void synced_by_the_block(const int *x, int *tmp, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  tmp[i] = 2 * x[i];  // <A
  __syncthreads();
  y[i] = tmp[127 - i];  // <B <- race
}

// Wrong: the barrier is before the write.
// kernel synced_before_the_write grid 4 block 32 cooperative yes
// in x int32 = np.arange(128)
// inout tmp int32 = np.zeros(128) -> _
// out y int32 = (x * 2)[::-1]
// hints Put a barrier of all blocks (grid.sync()) between line A< and line B<.
extern "C" __global__ void synced_before_the_write(const int *x, int *tmp, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  cg::this_grid().sync();
  tmp[i] = 2 * x[i];  // <A
  y[i] = tmp[127 - i];  // <B <- race
}

// Rounds until nothing changes, with three flags in turn: one is read, one is set and one is reset.
// kernel shortest_paths grid 2 block 64 cooperative yes
// in from int32 = rng.integers(0, 100, 400)
// in to int32 = np.append(np.arange(1, 100), rng.integers(0, 100, 301))
// inout d int32 = np.append(0, np.full(99, 9999)) -> _
// inout changed int32 = [1, 0, 0] -> _
// inout rounds int32 = [0] -> _
extern "C" __global__ void shortest_paths(const int *from, const int *to, int *d, int *changed, int *rounds) {
  auto grid = cg::this_grid();
  int round = 0;
  while (*(volatile int *)(changed + round % 3)) {
    if (grid.thread_rank() == 0) changed[(round + 2) % 3] = 0;
    for (int e = grid.thread_rank(); e < 400; e += grid.size()) {
      int next = atomicAdd(d + from[e], 0) + 1 + e % 7;
      if (next < atomicMin(d + to[e], next)) atomicExch(changed + (round + 1) % 3, 1);
    }
    round++;
    grid.sync();
  }
  if (grid.thread_rank() == 0) *rounds = round;
}

// Wrong: an atomic for the reset would hide that a barrier is missing.
// kernel shortest_paths_lack_barrier grid 2 block 64 cooperative yes
// in from int32 = rng.integers(0, 100, 400)
// in to int32 = np.append(np.arange(1, 100), rng.integers(0, 100, 301))
// inout d int32 = np.append(0, np.full(99, 9999)) -> _
// inout changed int32 = [1, 0, 0] -> _
// hints Put a barrier of all blocks (grid.sync()) between line W< and line Z<, and after line E<, before
extern "C" __global__ void shortest_paths_lack_barrier(const int *from, const int *to, int *d, int *changed) {
  auto grid = cg::this_grid();
  int round = 0;
  while (*(volatile int *)(changed + round % 3)) {  // <W <- race
    if (grid.thread_rank() == 0) changed[(round + 2) % 3] = 0;  // <Z
    for (int e = grid.thread_rank(); e < 400; e += grid.size()) {
      int next = atomicAdd(d + from[e], 0) + 1 + e % 7;
      if (next < atomicMin(d + to[e], next)) atomicExch(changed + (round + 1) % 3, 1);
    }  // <E <- timeout
    round++;
  }
}

// Wrong: the store may raise what another thread has lowered.
// kernel shortest_paths_in_two_steps grid 2 block 64 cooperative yes
// in from int32 = rng.integers(0, 100, 400)
// in to int32 = np.append(np.arange(1, 100), rng.integers(0, 100, 301))
// inout d int32 = np.append(0, np.full(99, 9999)) -> _
// inout changed int32 = [1, 0, 0] -> _
// hints Use one atomic such as atomicMin
extern "C" __global__ void shortest_paths_in_two_steps(const int *from, const int *to, int *d, int *changed) {
  auto grid = cg::this_grid();
  int round = 0;
  while (*(volatile int *)(changed + round % 3)) {
    if (grid.thread_rank() == 0) changed[(round + 2) % 3] = 0;
    for (int e = grid.thread_rank(); e < 400; e += grid.size()) {
      int next = atomicAdd(d + from[e], 0) + 1 + e % 7;  // <- race
      int old = d[to[e]];
      if (next < old) d[to[e]] = next;  // <- race
      if (next < old) atomicExch(changed + (round + 1) % 3, 1);
    }
    round++;
    grid.sync();
  }
}

// One thread empties the worklist that all have tested: they must have read its length before.
// kernel emptied_too_early grid 2 block 32 cooperative yes
// inout length int32 = [40, 0] -> _
// hints Put a barrier of all blocks (grid.sync()) between line R< and line Z<
extern "C" __global__ void emptied_too_early(int *length) {
  auto grid = cg::this_grid();
  for (int round = 0;; round ^= 1) {
    int n = *(volatile int *)&length[round];  // <R
    if (n == 0) break;
    for (int i = grid.thread_rank(); i < n / 2; i += grid.size()) atomicAdd(&length[round ^ 1], 1);
    if (grid.thread_rank() == 0) length[round] = 0;  // <Z <- race
    grid.sync();  // <- timeout
  }
}

// kernel emptied_in_time grid 2 block 32 cooperative yes
// inout length int32 = [40, 0] -> [0, 0]
extern "C" __global__ void emptied_in_time(int *length) {
  auto grid = cg::this_grid();
  for (int round = 0;; round ^= 1) {
    int n = *(volatile int *)&length[round];
    if (n == 0) break;
    for (int i = grid.thread_rank(); i < n / 2; i += grid.size()) atomicAdd(&length[round ^ 1], 1);
    grid.sync();
    if (grid.thread_rank() == 0) length[round] = 0;
    grid.sync();
  }
}
