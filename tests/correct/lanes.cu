// Exchanges between lanes with full and partial masks, and barriers with names.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cstdio>
namespace cg = cooperative_groups;
#define FULL 0xffffffffu

// kernel warp_reduce_partial grid 1 block 48
// in x int32 = np.arange(48)
// out y int32 = [496, 632]
extern "C" __global__ void warp_reduce_partial(const int *x, int *y) {
  int v = x[threadIdx.x];
  unsigned mask = __activemask();
  for (int o = 16; o; o /= 2) { int u = __shfl_down_sync(mask, v, o); if ((threadIdx.x & 31) + o < __popc(mask)) v += u; }
  if ((threadIdx.x & 31) == 0) y[threadIdx.x / 32] = v;
}

// kernel warp_reduce_full_mask_partial_warp grid 1 block 48
// in x int32 = np.arange(48)
// out y int32 = [496, 632]
extern "C" __global__ void warp_reduce_full_mask_partial_warp(const int *x, int *y) {
  int v = x[threadIdx.x];
  for (int o = 16; o; o /= 2) v += __shfl_down_sync(FULL, v, o);  // <- barrier-divergence
  if ((threadIdx.x & 31) == 0) y[threadIdx.x / 32] = v;
}

// kernel ballot_then_branch grid 1 block 64
// in x int32 = np.arange(64) * 7 % 13
// out y int32 = np.concatenate([np.cumsum(x[:32] > 6) - (x[:32] > 6), np.cumsum(x[32:] > 6) - (x[32:] > 6)])
extern "C" __global__ void ballot_then_branch(const int *x, int *y) {
  bool p = x[threadIdx.x] > 6;
  unsigned b = __ballot_sync(FULL, p);
  y[threadIdx.x] = __popc(b & ((1u << (threadIdx.x & 31)) - 1));
}

// kernel ballot_in_branch grid 1 block 64
// in x int32 = np.arange(64) * 7 % 13
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void ballot_in_branch(const int *x, int *y) {
  if (x[threadIdx.x] > 6) {
    unsigned b = __ballot_sync(FULL, true);  // <- barrier-divergence
    y[threadIdx.x] = __popc(b);
  }
}

// kernel mask_from_ballot grid 1 block 64
// in x int32 = np.arange(64) * 7 % 13
// inout y int32 = np.zeros(64) -> [int(x[i] + max(x[32*(i//32):32*(i//32)+32])) if x[i] > 6 else 0 for i in range(64)]
extern "C" __global__ void mask_from_ballot(const int *x, int *y) {
  int v = x[threadIdx.x];
  unsigned m = __ballot_sync(FULL, v > 6);
  if (v > 6) y[threadIdx.x] = v + __reduce_max_sync(m, (unsigned)v);
}

// kernel broadcast_from_out_of_mask grid 1 block 32
// inout y int32 = np.zeros(32) -> _
extern "C" __global__ void broadcast_from_out_of_mask(int *y) {
  unsigned odd = 0xaaaaaaaau;
  if (threadIdx.x & 1) y[threadIdx.x] = __shfl_sync(odd, (int)threadIdx.x, 0);  // <- barrier-divergence
}

// kernel broadcast_from_leader grid 1 block 32
// inout y int32 = np.zeros(32) -> [(1 if i & 1 else 0) for i in range(32)]
extern "C" __global__ void broadcast_from_leader(int *y) {
  unsigned odd = 0xaaaaaaaau;
  if (threadIdx.x & 1) y[threadIdx.x] = __shfl_sync(odd, (int)threadIdx.x, __ffs(odd) - 1);
}

// kernel early_exit_loop grid 1 block 100
// in n int32 = np.arange(100) % 5
// out y int32 = [int(n[i]) for i in range(100)]
extern "C" __global__ void early_exit_loop(const int *n, int *y) {
  int left = n[threadIdx.x], c = 0;
  unsigned live = threadIdx.x < 96 ? FULL : 0xf;
  while (__any_sync(live, left > 0)) { if (left > 0) { --left; ++c; } }
  y[threadIdx.x] = c;
}

// kernel exit_leaves_tail_unset grid 1 block 64
// in x int32 = np.arange(50)
// value n int32 = 50
// out y int32 = np.zeros(50)
extern "C" __global__ void exit_leaves_tail_unset(const int *x, int n, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t >= n) return;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[63 - t];  // <- uninitialized-read
}

// kernel match_any_hist grid 1 block 64
// in k int32 = np.arange(64) * 5 % 6
// inout h int32 = np.zeros(6) -> np.bincount(k, minlength=6)
extern "C" __global__ void match_any_hist(const int *k, int *h) {
  int b = k[threadIdx.x];
  unsigned m = __match_any_sync(FULL, b);
  if ((threadIdx.x & 31) == __ffs(m) - 1) atomicAdd(&h[b], __popc(m));
}

// kernel match_any_hist_plain grid 1 block 64
// in k int32 = np.arange(64) * 5 % 6
// inout h int32 = np.zeros(6) -> _
extern "C" __global__ void match_any_hist_plain(const int *k, int *h) {
  int b = k[threadIdx.x];
  unsigned m = __match_any_sync(FULL, b);
  if ((threadIdx.x & 31) == __ffs(m) - 1) h[b] += __popc(m);  // <- race
}

// kernel match_all grid 1 block 32
// in k int32 = np.full(32, 9)
// out y int32 = np.full(32, 1)
extern "C" __global__ void match_all(const int *k, int *y) {
  int p;
  unsigned m = __match_all_sync(FULL, k[threadIdx.x], &p);
  y[threadIdx.x] = p && m == FULL;
}

// kernel shfl_width grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [int(sum(x[8*(i//8):i+1])) for i in range(32)]
extern "C" __global__ void shfl_width(const int *x, int *y) {
  int v = x[threadIdx.x];
  for (int o = 1; o < 8; o *= 2) { int u = __shfl_up_sync(FULL, v, o, 8); if ((threadIdx.x & 7) >= o) v += u; }
  y[threadIdx.x] = v;
}

// kernel shfl_double_long grid 1 block 32
// in x float64 = np.arange(32) * 0.5
// out y float64 = x[::-1]
// out z int64 = np.arange(32)[::-1] * 10000000000
extern "C" __global__ void shfl_double_long(const double *x, double *y, long long *z) {
  y[threadIdx.x] = __shfl_sync(FULL, x[threadIdx.x], 31 - threadIdx.x);
  z[threadIdx.x] = __shfl_sync(FULL, threadIdx.x * 10000000000ll, 31 - threadIdx.x);
}

// kernel divergent_two_halves grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = [120 if i < 16 else 376 for i in range(32)]
extern "C" __global__ void divergent_two_halves(const int *x, int *y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) { for (int o = 8; o; o /= 2) v += __shfl_xor_sync(0x0000ffff, v, o); }
  else { for (int o = 8; o; o /= 2) v += __shfl_xor_sync(0xffff0000, v, o); }
  y[threadIdx.x] = v;
}

// kernel divergent_two_halves_full grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.zeros(32)
extern "C" __global__ void divergent_two_halves_full(const int *x, int *y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) { for (int o = 8; o; o /= 2) v += __shfl_xor_sync(FULL, v, o); y[threadIdx.x] = v; }  // <- barrier-divergence
  else { for (int o = 8; o; o /= 2) v += __shfl_xor_sync(FULL, v, o); y[threadIdx.x] = v + 1; }  // <- barrier-divergence
}

// kernel syncwarp_shared grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.arange(64) ^ 1
extern "C" __global__ void syncwarp_shared(const int *x, int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  int v = s[threadIdx.x ^ 1];
  __syncwarp();
  s[threadIdx.x] = v;
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x];
}

// kernel syncwarp_missing_second grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = np.zeros(64)
extern "C" __global__ void syncwarp_missing_second(const int *x, int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncwarp();
  int v = s[threadIdx.x ^ 1];  // <- race
  s[threadIdx.x] = v;  // <- race
  __syncwarp();
  y[threadIdx.x] = s[threadIdx.x];
}

// kernel leader_writes_lane_reads grid 1 block 32
// out y int32 = np.full(32, 5)
extern "C" __global__ void leader_writes_lane_reads(int *y) {
  __shared__ int s;
  if (threadIdx.x == 0) s = 5;  // <- race
  y[threadIdx.x] = s;  // <- race
}

// kernel named_producer grid 1 block 64
// in x int32 = np.arange(128)
// out y int32 = np.arange(128)
extern "C" __global__ void named_producer(const int *x, int *y) {
  __shared__ int s[32];
  int lane = threadIdx.x % 32;
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x < 32) {
      s[lane] = x[32 * k + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
      asm volatile("bar.sync 2, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[32 * k + lane] = s[lane];
      asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}

// kernel named_producer_one_way grid 1 block 64
// in x int32 = np.arange(128)
// out y int32 = np.arange(128)
extern "C" __global__ void named_producer_one_way(const int *x, int *y) {
  __shared__ int s[32];
  int lane = threadIdx.x % 32;
  for (int k = 0; k < 4; ++k) {
    if (threadIdx.x < 32) {
      s[lane] = x[32 * k + lane];  // <- race
      asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      y[32 * k + lane] = s[lane];  // <- race
    }
  }
}

// kernel bar_or grid 1 block 96
// in x int32 = np.arange(96)
// out y int32 = np.full(96, 1 + 2 * 0 + 4 * 40)
extern "C" __global__ void bar_or(const int *x, int *y) {
  int v = x[threadIdx.x];
  int a = __syncthreads_or(v == 77), b = __syncthreads_and(v < 95), c = __syncthreads_count(v < 40);
  y[threadIdx.x] = (a != 0) + 2 * (b != 0) + 4 * c;
}

// kernel syncthreads_or_orders grid 1 block 96
// out y int32 = np.arange(96)[::-1]
extern "C" __global__ void syncthreads_or_orders(int *y) {
  __shared__ int s[96];
  s[threadIdx.x] = threadIdx.x;
  int any = __syncthreads_or(threadIdx.x == 3);
  y[threadIdx.x] = s[95 - threadIdx.x] + (any ? 0 : 1);
}

// kernel sync_in_divergent_loop grid 1 block 64
// in n int32 = np.where(np.arange(64) < 32, 3, 2)
// out y int32 = np.zeros(64)
extern "C" __global__ void sync_in_divergent_loop(const int *n, int *y) {
  __shared__ int s[64];
  s[threadIdx.x] = 0;
  for (int k = 0; k < n[threadIdx.x]; ++k) {
    s[threadIdx.x] += k;
    __syncthreads();  // <- barrier-divergence
  }
  y[threadIdx.x] = s[threadIdx.x];
}

// Lanes that are not there, or have left, give any value: no sum, maximum or minimum may hide one.
// kernel float_beyond_the_block grid 1 block 20
// in x float32 = np.arange(20) / 4
// out y float32 = np.append(x[1:], 0) - x
extern "C" __global__ void float_beyond_the_block(const float *x, float *y) {
  float v = x[threadIdx.x], next = __shfl_down_sync(0xfffffu, v, 1);  // <- barrier-divergence
  y[threadIdx.x] = next - v;
}

// kernel float_beyond_the_block_ignored grid 1 block 20
// in x float32 = np.arange(20) / 4
// out y float32 = np.append(x[1:] - x[:-1], 0)
extern "C" __global__ void float_beyond_the_block_ignored(const float *x, float *y) {
  float v = x[threadIdx.x], next = __shfl_down_sync(0xfffffu, v, 1);
  y[threadIdx.x] = threadIdx.x < 19 ? next - v : 0.0f;
}

// kernel float_masked_by_a_factor grid 1 block 20
// in x float32 = np.arange(20)
// out y float32 = [190]
extern "C" __global__ void float_masked_by_a_factor(const float *x, float *y) {
  float v = x[threadIdx.x];
  for (int o = 16; o; o /= 2) v += __shfl_down_sync(0xfffffu, v, o) * (threadIdx.x + o < 20 ? 1.0f : 0.0f);
  if (threadIdx.x == 0) *y = v;
}

// kernel sum_of_lanes_that_left grid 1 block 64
// in x float32 = np.arange(64)
// value n int32 = 40
// out y float32 = [496, 284]
extern "C" __global__ void sum_of_lanes_that_left(const float *x, int n, float *y) {
  int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(FULL, v, o);  // <- barrier-divergence
  if (t % 32 == 0) y[t / 32] = v;
}

// kernel maximum_of_lanes_that_left grid 1 block 64
// in x float32 = np.arange(64) + 1000
// value n int32 = 40
// out y float32 = [1031, 1039]
extern "C" __global__ void maximum_of_lanes_that_left(const float *x, int n, float *y) {
  int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int o = 16; o; o /= 2) v = fmaxf(v, __shfl_xor_sync(FULL, v, o));  // <- barrier-divergence
  if (t % 32 == 0) y[t / 32] = v;
}

// kernel minimum_of_lanes_that_left grid 1 block 64
// in x float32 = -np.arange(64) - 1000
// value n int32 = 40
// out y float32 = [-1031, -1039]
extern "C" __global__ void minimum_of_lanes_that_left(const float *x, int n, float *y) {
  int t = threadIdx.x;
  if (t >= n) return;
  float v = x[t];
  for (int o = 16; o; o /= 2) v = fminf(v, __shfl_xor_sync(FULL, v, o));  // <- barrier-divergence
  if (t % 32 == 0) y[t / 32] = v;
}

// kernel lanes_stay_with_a_neutral_value grid 1 block 64
// in x float32 = np.arange(64)
// value n int32 = 40
// out y float32 = [496, 284]
extern "C" __global__ void lanes_stay_with_a_neutral_value(const float *x, int n, float *y) {
  int t = threadIdx.x;
  float v = t < n ? x[t] : 0.0f;
  for (int o = 16; o; o /= 2) v += __shfl_xor_sync(FULL, v, o);
  if (t % 32 == 0) y[t / 32] = v;
}

// kernel least_unsigned_of_absent_lanes grid 1 block 48
// in x uint32 = np.arange(48) % 40 + 3
// out y uint32 = [3, 3]
extern "C" __global__ void least_unsigned_of_absent_lanes(const unsigned *x, unsigned *y) {
  unsigned v = x[threadIdx.x];
  for (int o = 16; o; o /= 2) v = min(v, __shfl_down_sync(FULL, v, o));  // <- barrier-divergence
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v;
}

// kernel double_of_absent_lanes grid 1 block 48
// in x float64 = np.arange(48) * 1e9
// out y float64 = [496e9, 632e9]
extern "C" __global__ void double_of_absent_lanes(const double *x, double *y) {
  double v = x[threadIdx.x];
  for (int o = 16; o; o /= 2) v += __shfl_down_sync(FULL, v, o);  // <- barrier-divergence
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v;
}

// kernel halves_of_absent_lanes grid 1 block 48
// in x float16 = np.arange(48) + 500
// out y float16 = [531, 547]
extern "C" __global__ void halves_of_absent_lanes(const __half *x, __half *y) {
  __half v = x[threadIdx.x];
  for (int o = 16; o; o /= 2) v = __hmax(v, __shfl_down_sync(FULL, v, o));  // <- barrier-divergence
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v;
}

// kernel tile_of_absent_lanes grid 1 block 48
// in x float32 = np.arange(48)
// out y float32 = [496, 632]
extern "C" __global__ void tile_of_absent_lanes(const float *x, float *y) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  float sum = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());  // <- barrier-divergence
  if (tile.thread_rank() == 0) y[threadIdx.x / 32] = sum;
}

// kernel tiles_of_sixteen grid 1 block 48
// in x float32 = np.arange(48)
// out y float32 = [120, 376, 632]
extern "C" __global__ void tiles_of_sixteen(const float *x, float *y) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  float sum = cg::reduce(tile, x[threadIdx.x], cg::plus<float>());
  if (tile.thread_rank() == 0) y[threadIdx.x / 16] = sum;
}
