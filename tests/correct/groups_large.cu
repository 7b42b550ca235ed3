// Groups of many sizes: tiles of more than a warp, partitions by label and by predicate, copies.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// kernel labeled grid 1 block 64
// in key int32 = np.arange(64) * 5 % 7 % 4
// out y int32 = [int(np.sum(np.where(key[32*(i//32):32*(i//32)+32] == key[i], np.arange(32*(i//32), 32*(i//32)+32), 0))) for i in range(64)]
extern "C" __global__ void labeled(const int *key, int *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto g = cg::labeled_partition(warp, key[threadIdx.x]);
  y[threadIdx.x] = cg::reduce(g, int(threadIdx.x), cg::plus<int>());
}

// kernel binary grid 1 block 64
// in x int32 = np.arange(64) * 3 % 8
// out y int32 = [sum((x[32*(i//32):i] % 2) == x[i] % 2) for i in range(64)]
extern "C" __global__ void binary(const int *x, int *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto g = cg::binary_partition(warp, x[threadIdx.x] & 1);
  y[threadIdx.x] = g.thread_rank();
}

// kernel binary_shared grid 1 block 32
// in x int32 = np.arange(32) * 3 % 8
// out y int32 = [int(sum(x[j] for j in range(32) if x[j] % 2 == x[i] % 2)) for i in range(32)]
extern "C" __global__ void binary_shared(const int *x, int *y) {
  __shared__ int s[32];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto g = cg::binary_partition(warp, x[threadIdx.x] & 1);
  s[threadIdx.x] = x[threadIdx.x];
  g.sync();
  int a = 0;
  for (int i = 0; i < 32; ++i) if ((x[i] & 1) == (x[threadIdx.x] & 1)) a += s[i];
  y[threadIdx.x] = a;
}

// kernel binary_shared_all grid 1 block 32
// in x int32 = np.arange(32) * 3 % 8
// out y int32 = np.zeros(32)
extern "C" __global__ void binary_shared_all(const int *x, int *y) {
  __shared__ int s[32];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto g = cg::binary_partition(warp, x[threadIdx.x] & 1);
  s[threadIdx.x] = x[threadIdx.x];  // <- race
  g.sync();
  int a = 0;
  for (int i = 0; i < 32; ++i) a += s[i];  // <- race
  y[threadIdx.x] = a;
}

// kernel coalesced_scan grid 1 block 64
// in x int32 = np.arange(64) * 11 % 17
// inout n int32 = [0] -> [int(np.sum(x > 8))]
// out y int32 = np.concatenate([np.flatnonzero(x > 8), np.full(int(np.sum(x <= 8)), 0)])
extern "C" __global__ void coalesced_scan(const int *x, int *n, int *y) {
  __shared__ int base;
  int i = threadIdx.x;
  y[i] = 0;
  if (i == 0) base = 0;
  __syncthreads();
  for (int w = 0; w < 2; ++w) {
    if (i / 32 == w && x[i] > 8) {
      auto g = cg::coalesced_threads();
      int at = base;
      g.sync();
      if (g.thread_rank() == 0) base = at + g.size();
      y[at + g.thread_rank()] = i;
    }
    __syncthreads();
  }
  if (i == 0) *n = base;
}

// kernel coalesced_no_sync grid 1 block 64
// in x int32 = np.arange(64) * 11 % 17
// inout n int32 = [0] -> _
// out y int32 = np.zeros(64)
extern "C" __global__ void coalesced_no_sync(const int *x, int *n, int *y) {
  __shared__ int base;
  int i = threadIdx.x;
  y[i] = 0;
  if (i == 0) base = 0;
  __syncthreads();
  for (int w = 0; w < 2; ++w) {
    if (i / 32 == w && x[i] > 8) {
      auto g = cg::coalesced_threads();
      int at = base;  // <- race
      if (g.thread_rank() == 0) base = at + g.size();  // <- race
      y[at + g.thread_rank()] = i;
    }
    __syncthreads();
  }
  if (i == 0) *n = base;
}

// kernel tile64 grid 1 block 128
// in x int32 = np.arange(128)
// out y int32 = np.repeat(x.reshape(2, 64).sum(axis=1), 64)
extern "C" __global__ void tile64(const int *x, int *y) {
  __shared__ cg::block_tile_memory<128> mem;
  auto b = cg::this_thread_block(mem);
  auto t = cg::tiled_partition<64>(b);
  y[threadIdx.x] = cg::reduce(t, x[threadIdx.x], cg::plus<int>());
}

// kernel tile64_sync grid 1 block 128
// in x int32 = np.arange(128)
// out y int32 = np.arange(128) ^ 63
extern "C" __global__ void tile64_sync(const int *x, int *y) {
  __shared__ cg::block_tile_memory<128> mem;
  __shared__ int s[128];
  auto b = cg::this_thread_block(mem);
  auto t = cg::tiled_partition<64>(b);
  s[threadIdx.x] = x[threadIdx.x];
  t.sync();
  y[threadIdx.x] = s[threadIdx.x ^ 63];
}

// kernel tile64_sync_cross grid 1 block 128
// in x int32 = np.arange(128)
// out y int32 = np.arange(128) ^ 127
extern "C" __global__ void tile64_sync_cross(const int *x, int *y) {
  __shared__ cg::block_tile_memory<128> mem;
  __shared__ int s[128];
  auto b = cg::this_thread_block(mem);
  auto t = cg::tiled_partition<64>(b);
  s[threadIdx.x] = x[threadIdx.x];  // <- race
  t.sync();
  y[threadIdx.x] = s[threadIdx.x ^ 127];  // <- race
}

// kernel invoke_bcast grid 2 block 64
// inout n int32 = [0] -> [4]
// out y int32 = np.repeat(np.arange(4), 32)
extern "C" __global__ void invoke_bcast(int *n, int *y) {
  auto t = cg::tiled_partition<32>(cg::this_thread_block());
  int v = cg::invoke_one_broadcast(t, [&] { return atomicAdd(n, 1); });
  y[v * 32 + threadIdx.x % 32] = v;
}

// kernel grid_arrive_wait grid 3 block 32 cooperative yes
// inout a int32 = np.zeros(96) -> np.arange(96)
// out y int32 = np.arange(96)[::-1]
extern "C" __global__ void grid_arrive_wait(int *a, int *y) {
  auto g = cg::this_grid();
  int i = g.thread_rank();
  a[i] = i;
  auto token = g.barrier_arrive();
  int local = i * i;
  g.barrier_wait(cuda::std::move(token));
  y[i] = a[95 - i] + 0 * local;
}

// kernel memcpy_two_stages grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = (np.arange(256) * 2)
extern "C" __global__ void memcpy_two_stages(const int *x, int *y) {
  __shared__ alignas(16) int s[2][64];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s[0], x, 256);
  for (int k = 0; k < 4; ++k) {
    if (k < 3) { cg::memcpy_async(b, s[(k + 1) % 2], x + 64 * (k + 1), 256); cg::wait_prior<1>(b); }
    else cg::wait(b);
    y[64 * k + threadIdx.x] = 2 * s[k % 2][threadIdx.x];
    b.sync();
  }
}

// kernel memcpy_two_stages_no_sync grid 1 block 64
// in x int32 = np.arange(256)
// out y int32 = (np.arange(256) * 2)
extern "C" __global__ void memcpy_two_stages_no_sync(const int *x, int *y) {
  __shared__ alignas(16) int s[2][64];
  auto b = cg::this_thread_block();
  cg::memcpy_async(b, s[0], x, 256);
  for (int k = 0; k < 4; ++k) {
    if (k < 3) { cg::memcpy_async(b, s[(k + 1) % 2], x + 64 * (k + 1), 256); cg::wait_prior<1>(b); }  // <- race
    else cg::wait(b);
    y[64 * k + threadIdx.x] = 2 * s[k % 2][63 - threadIdx.x];  // <- race
  }
}

// kernel tile128_many grid 2 block 256
// in x int32 = np.arange(512) * 7 % 31
// out y int32 = [int(np.sum(x[128*(i//128):i+1]) + np.max(x[128*(i//128):128*(i//128)+128])) for i in range(512)]
extern "C" __global__ void tile128_many(const int *x, int *y) {
  __shared__ cg::block_tile_memory<256> mem;
  auto b = cg::this_thread_block(mem);
  auto t = cg::tiled_partition<128>(b);
  int i = blockIdx.x * 256 + threadIdx.x;
  int sum = cg::inclusive_scan(t, x[i]);
  int most = cg::reduce(t, x[i], cg::greater<int>());
  y[i] = sum + most;
}

// kernel tile128_leader grid 1 block 256
// inout n int32 = [0] -> [2]
// out y int32 = np.ones(256)
extern "C" __global__ void tile128_leader(int *n, int *y) {
  __shared__ cg::block_tile_memory<256> mem;
  auto b = cg::this_thread_block(mem);
  auto t = cg::tiled_partition<128>(b);
  y[threadIdx.x] = t.any(threadIdx.x % 128 == 77);
  int base = cg::invoke_one_broadcast(t, [&] { return atomicAdd(n, 1); });
  y[threadIdx.x] += 0 * base;
}

// kernel objects_of_inlined_code grid 1 block 96
// in x int32 = rng.integers(0, 99, 96)
// out y int32 = np.concatenate([[sum(w[:i][(w[:i] & 1) == (w[i] & 1)]) for i in range(32)] for w in x.reshape(3, 32)])
__global__ void objects_of_inlined_code(const int *x, int *y) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  int v = x[cg::this_thread_block().thread_rank()];
  auto alike = cg::binary_partition(tile, v & 1);
  y[threadIdx.x] = cg::exclusive_scan(alike, v, cg::plus<int>());
}
