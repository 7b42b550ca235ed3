// Cooperative groups, barriers and pipelines of libcu++.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;

// kernel block_group grid 2 block 64
// in x int32 = np.arange(128)
// out y int32 = x.reshape(2, 64)[:, ::-1].ravel()
extern "C" __global__ void block_group(const int *x, int *y) {
  __shared__ int s[64];
  cg::thread_block block = cg::this_thread_block();
  int r = block.thread_rank(), base = block.group_index().x * block.size();
  s[r] = x[base + r];
  block.sync();
  y[base + r] = s[63 - r];
}

// kernel tiles grid 1 block 64
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = np.repeat(x.reshape(2, 32).sum(1), 32) + np.repeat(x.reshape(4, 16).max(1), 16) + np.repeat(x.reshape(8, 8).sum(1), 8)
extern "C" __global__ void tiles(const int *x, int *y) {
  auto block = cg::this_thread_block();
  auto t32 = cg::tiled_partition<32>(block);
  auto t16 = cg::tiled_partition<16>(block);
  auto t8 = cg::tiled_partition<8>(t32);
  int v = x[block.thread_rank()], own = v;
  for (int k = t8.size() / 2; k > 0; k /= 2) own += t8.shfl_xor(own, k);
  y[block.thread_rank()] = cg::reduce(t32, v, cg::plus<int>()) + cg::reduce(t16, v, cg::greater<int>()) + own;
}

// kernel scans grid 1 block 32
// in x int32 = rng.integers(0, 99, 32)
// out y int32 = np.concatenate([x.cumsum(), x.cumsum() - x])
extern "C" __global__ void scans(const int *x, int *y) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int v = x[tile.thread_rank()];
  y[tile.thread_rank()] = cg::inclusive_scan(tile, v);
  y[32 + tile.thread_rank()] = cg::exclusive_scan(tile, v);
}

// kernel coalesced grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// inout n int32 = [0] -> [(x > 4).sum()]
extern "C" __global__ void coalesced(const int *x, int *n) {
  if (x[threadIdx.x] > 4) {
    auto active = cg::coalesced_threads();
    if (active.thread_rank() == 0) atomicAdd(n, active.size());
    active.sync();
  }
}

// kernel copies grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = x.reshape(4, 64)[:, ::-1].sum(0)
extern "C" __global__ void copies(const int *x, int *y) {
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  int sum = 0;
  for (int k = 0; k < 4; k++) {
    cg::memcpy_async(block, s, x + 64 * k, sizeof(int) * 64);
    cg::wait(block);
    sum += s[63 - threadIdx.x];
    block.sync();
  }
  y[threadIdx.x] = sum;
}

// kernel block_barrier grid 1 block 64
// in x int32 = np.arange(64)
// out y int32 = x[::-1] + x
extern "C" __global__ void block_barrier(const int *x, int *y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t == 0) init(&bar, blockDim.x);
  __syncthreads();
  s[t] = x[t];
  bar.arrive_and_wait();
  int v = s[63 - t];
  auto token = bar.arrive();
  bar.wait(static_cast<decltype(token) &&>(token));
  s[t] = v + x[t];
  y[t] = s[t];
}

// kernel pipeline_copies grid 1 block 32
// in x int32 = np.arange(128)
// out y int32 = x.reshape(4, 32)[:, ::-1].sum(0)
extern "C" __global__ void pipeline_copies(const int *x, int *y) {
  __shared__ int s[2][32];
  auto pipe = cuda::make_pipeline();
  int t = threadIdx.x, sum = 0;
  pipe.producer_acquire();
  cuda::memcpy_async(&s[0][t], &x[t], sizeof(int), pipe);
  pipe.producer_commit();
  for (int k = 0; k < 4; k++) {
    pipe.producer_acquire();
    if (k < 3) cuda::memcpy_async(&s[(k + 1) & 1][t], &x[(k + 1) * 32 + t], sizeof(int), pipe);
    pipe.producer_commit();
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    __syncthreads();
    sum += s[k & 1][31 - t];
    __syncthreads();
    pipe.consumer_release();
  }
  y[t] = sum;
}
