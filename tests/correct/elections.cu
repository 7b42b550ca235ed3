// Leaders of warps and groups: what lanes elect, aggregate and share.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#include <cooperative_groups/memcpy_async.h>

// Loop over the distinct values of a warp with ballot and ffs.
// kernel distinct grid 1 block 64
// in x int32 = np.arange(64) * 5 % 7
// out y int32 = np.repeat([7, 7], 32)
extern "C" __global__ void distinct(const int *x, int *y) {
  int v = x[threadIdx.x], count = 0;
  unsigned todo = __ballot_sync(~0u, true);
  while (todo) {
    int leader = __ffs(todo) - 1;
    int w = __shfl_sync(~0u, v, leader);
    unsigned same = __ballot_sync(~0u, v == w);
    todo &= ~same;
    ++count;
  }
  y[threadIdx.x] = count;
}

// Elect loop: lanes leave the loop, mask of those that remain.
// kernel elect grid 1 block 32
// in x int32 = np.arange(32) % 3
// out y int32 = [11, 11, 10]
extern "C" __global__ void elect(const int *x, int *y) {
  int v = x[threadIdx.x];
  bool done = false;
  unsigned active = ~0u;
  while (!done) {
    int leader = __ffs(active) - 1;
    int w = __shfl_sync(active, v, leader);
    unsigned same = __ballot_sync(active, v == w);
    if (v == w) {
      if (threadIdx.x == leader) y[w] = __popc(same);
      done = true;
    }
    active &= ~same;
  }
}

// Wrong: full mask in a loop that lanes leave.
// kernel elect_full grid 1 block 32
// in x int32 = np.arange(32) % 3
// out y int32 = [11, 11, 10]
extern "C" __global__ void elect_full(const int *x, int *y) {
  int v = x[threadIdx.x];
  bool done = false;
  unsigned active = ~0u;
  while (!done) {
    int leader = __ffs(active) - 1;
    int w = __shfl_sync(0xffffffffu, v, leader);  // <- barrier-divergence
    unsigned same = __ballot_sync(active, v == w);
    if (v == w) {
      if (threadIdx.x == leader) y[w] = __popc(same);
      done = true;
    }
    active &= ~same;
  }
}

// Warp-aggregated increment with __activemask.
__device__ int aggregated(int *p) {
  unsigned m = __activemask();
  int lane = threadIdx.x % 32, leader = __ffs(m) - 1, r;
  if (lane == leader) r = atomicAdd(p, __popc(m));
  r = __shfl_sync(m, r, leader);
  return r + __popc(m & ((1u << lane) - 1));
}

// kernel filter grid 2 block 64
// in x int32 = np.arange(128)
// inout n int32 = [0] -> [43]
// inout y int32 = np.full(128, -1) -> _
extern "C" __global__ void filter(const int *x, int *n, int *y) {
  int v = x[blockIdx.x * 64 + threadIdx.x];
  if (v % 3 == 0) y[aggregated(n)] = v;
}

// A histogram by match in shared memory with a plain add of the leader of each group of one warp.
// kernel match_bins grid 1 block 32
// in x int32 = np.arange(320) * 3 % 11
// out y int32 = np.bincount(np.arange(320) * 3 % 11)
extern "C" __global__ void match_bins(const int *x, int *y) {
  __shared__ int h[11];
  int t = threadIdx.x;
  if (t < 11) h[t] = 0;
  __syncwarp();
  for (int k = 0; k < 10; ++k) {
    int b = x[k * 32 + t];
    unsigned peers = __match_any_sync(~0u, b);
    if (__ffs(peers) - 1 == t) h[b] += __popc(peers);
    __syncwarp();
  }
  if (t < 11) y[t] = h[t];
}

// Wrong: no __syncwarp between rounds.
// kernel match_bins_loose grid 1 block 32
// in x int32 = np.arange(320) * 3 % 11
// out y int32 = np.bincount(np.arange(320) * 3 % 11)
extern "C" __global__ void match_bins_loose(const int *x, int *y) {
  __shared__ int h[11];
  int t = threadIdx.x;
  if (t < 11) h[t] = 0;
  __syncwarp();
  for (int k = 0; k < 10; ++k) {
    int b = x[k * 32 + t];
    unsigned peers = __match_any_sync(~0u, b);
    if (__ffs(peers) - 1 == t) h[b] += __popc(peers);  // <- race
  }
  __syncwarp();
  if (t < 11) y[t] = h[t];
}

// Each half in its own branch, own mask.
// kernel halves_apart grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.repeat([120, 31], 16)
extern "C" __global__ void halves_apart(const int *x, int *y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    for (int d = 8; d; d /= 2) v += __shfl_xor_sync(0xffffu, v, d);
  } else {
    for (int d = 8; d; d /= 2) v = max(v, __shfl_xor_sync(0xffff0000u, v, d));
  }
  y[threadIdx.x] = v;
}

// Wrong: the sum goes over the border of the half.
// kernel halves_over grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void halves_over(const int *x, int *y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) {
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffu, v, d);  // <- barrier-divergence
  }
  y[threadIdx.x] = v;
}

__device__ int twice(int a) { return 2 * a; }

__device__ int thrice(int a) { return 3 * a; }

__device__ int minus(int a) { return -a; }

typedef int (*Op)(int);

__device__ Op ops[3] = {twice, thrice, minus};

// Sub-warp tiles each sum a row; lanes past the row give the neutral element.
// kernel tile_rows grid 2 block 128
// in a int32 = np.arange(32 * 5).reshape(32, 5)
// out y int32 = a.sum(1)
extern "C" __global__ void tile_rows(const int *a, int *y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int row = blockIdx.x * 16 + tile.meta_group_rank();
  int v = tile.thread_rank() < 5 ? a[row * 5 + tile.thread_rank()] : 0;
  int s = cg::reduce(tile, v, cg::plus<int>());
  if (tile.thread_rank() == 0) y[row] = s;
}

// Wrong: lanes with no element leave before the tile reduces.
// kernel tile_rows_left grid 2 block 128
// in a int32 = np.arange(32 * 5).reshape(32, 5)
// out y int32 = a.sum(1)
extern "C" __global__ void tile_rows_left(const int *a, int *y) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int row = blockIdx.x * 16 + tile.meta_group_rank();
  if (tile.thread_rank() >= 5) return;
  int s = cg::reduce(tile, a[row * 5 + tile.thread_rank()], cg::plus<int>());  // <- barrier-divergence
  if (tile.thread_rank() == 0) y[row] = s;
}

// Coalesced group inside a branch: aggregated append.
// kernel append grid 3 block 64
// in x int32 = np.arange(192) % 5
// inout n int32 = [0] -> [(np.arange(192) % 5 == 0).sum()]
// inout list int32 = np.zeros(192) -> _
extern "C" __global__ void append(const int *x, int *n, int *list) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (x[i] == 0) {
    auto g = cg::coalesced_threads();
    int base;
    if (g.thread_rank() == 0) base = atomicAdd(n, g.size());
    base = g.shfl(base, 0);
    list[base + g.thread_rank()] = i;
  }
}

// Labeled partition: one atomic for each bin met.
// kernel bins grid 2 block 64
// in x int32 = np.arange(128) * 7 % 6
// inout h int32 = np.zeros(6) -> np.bincount(np.arange(128) * 7 % 6)
extern "C" __global__ void bins(const int *x, int *h) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int b = x[blockIdx.x * 64 + threadIdx.x];
  auto same = cg::labeled_partition(warp, b);
  if (same.thread_rank() == 0) atomicAdd(&h[b], (int)same.size());
}

// Wrong: the leader adds plainly.
// kernel bins_plain grid 2 block 64
// in x int32 = np.arange(128) * 7 % 6
// inout h int32 = np.zeros(6) -> np.bincount(np.arange(128) * 7 % 6)
extern "C" __global__ void bins_plain(const int *x, int *h) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int b = x[blockIdx.x * 64 + threadIdx.x];
  auto same = cg::labeled_partition(warp, b);
  if (same.thread_rank() == 0) h[b] += (int)same.size();  // <- race
}

// An elected lane: leader writes, all read after sync.
// kernel chosen grid 1 block 96
// out y int32 = np.repeat([5, 6, 7], 32)
extern "C" __global__ void chosen(int *y) {
  __shared__ int s[3];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  cg::invoke_one(warp, [&] { s[warp.meta_group_rank()] = 5 + warp.meta_group_rank(); });
  warp.sync();
  y[threadIdx.x] = s[warp.meta_group_rank()];
}

// Wrong: reads without the sync.
// kernel chosen_early grid 1 block 96
// out y int32 = np.repeat([5, 6, 7], 32)
extern "C" __global__ void chosen_early(int *y) {
  __shared__ int s[3];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  cg::invoke_one(warp, [&] { s[warp.meta_group_rank()] = 5 + warp.meta_group_rank(); });  // <- race
  y[threadIdx.x] = s[warp.meta_group_rank()];  // <- race
}
