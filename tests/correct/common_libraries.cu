// Cooperative groups, libcu++ and CUB as programs use them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/std/functional>
#include <cuda/std/array>
#include <cuda/std/span>
#include <cuda/std/optional>
#include <cuda/std/tuple>
#include <cuda/std/complex>
#include <cuda/std/limits>
#include <cuda/std/bit>
#include <cuda/std/utility>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cub/cub.cuh>
namespace cg = cooperative_groups;
// kernel cg_reduce grid 2 block 128
// in x int32 = rng.integers(-100, 100, 256)
// out y int32 = x.reshape(2, 128).sum(1)
// out m int32 = x.reshape(8, 32).max(1)
extern "C" __global__ void cg_reduce(const int *x, int *y, int *m) {
  __shared__ int part[4];
  auto b = cg::this_thread_block(); auto w = cg::tiled_partition<32>(b);
  int v = x[blockIdx.x * 128 + b.thread_rank()];
  int s = cg::reduce(w, v, cg::plus<int>()), g = cg::reduce(w, v, cg::greater<int>());
  if (w.thread_rank() == 0) { part[w.meta_group_rank()] = s; m[blockIdx.x * 4 + w.meta_group_rank()] = g; }
  b.sync();
  if (b.thread_rank() == 0) y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}
// kernel cg_scan grid 1 block 64
// in x int32 = rng.integers(0, 9, 64)
// out y int32 = x.reshape(4, 16).cumsum(1).ravel()
// out z int32 = (x.reshape(4, 16).cumsum(1) - x.reshape(4, 16)).ravel()
extern "C" __global__ void cg_scan(const int *x, int *y, int *z) {
  auto t = cg::tiled_partition<16>(cg::this_thread_block()); int i = threadIdx.x;
  y[i] = cg::inclusive_scan(t, x[i]); z[i] = cg::exclusive_scan(t, x[i]);
}
// kernel cg_labels grid 1 block 32
// out n int32 = [sum(1 for k in range(32) if k * k % 7 == i * i % 7) for i in range(32)]
// out r int32 = [sum(1 for k in range(i) if k * k % 7 == i * i % 7) for i in range(32)]
extern "C" __global__ void cg_labels(int *n, int *r) {
  auto w = cg::tiled_partition<32>(cg::this_thread_block()); int i = w.thread_rank();
  auto g = cg::labeled_partition(w, i * i % 7); n[i] = g.size(); r[i] = g.thread_rank();
}
// kernel cg_binary grid 1 block 32
// out y int32 = [sum(k for k in range(32) if k % 3 == 0) if i % 3 == 0 else sum(k for k in range(32) if k % 3) for i in range(32)]
extern "C" __global__ void cg_binary(int *y) {
  auto w = cg::tiled_partition<32>(cg::this_thread_block()); int i = w.thread_rank();
  auto g = cg::binary_partition(w, i % 3 == 0); y[i] = cg::reduce(g, i, cg::plus<int>());
}
// kernel cg_coalesced grid 1 block 64
// inout c int32 = [0] -> [22]
// out y int32 = [-1 if i % 3 else i // 3 for i in range(64)]
extern "C" __global__ void cg_coalesced(int *c, int *y) {
  int i = threadIdx.x; y[i] = -1;
  if (i % 3 == 0) {
    auto g = cg::coalesced_threads(); 
    if (g.thread_rank() == 0) atomicAdd(c, g.size());
    y[i] = i / 32 * 11 + g.thread_rank();
  }
}
// kernel cg_invoke grid 1 block 64
// inout c int32 = [0] -> [2]
// out y int32 = np.repeat([7, 7], 32)
extern "C" __global__ void cg_invoke(int *c, int *y) {
  auto w = cg::tiled_partition<32>(cg::this_thread_block());
  cg::invoke_one(w, [&] { atomicAdd(c, 1); });
  y[threadIdx.x] = cg::invoke_one_broadcast(w, [] { return 7; });
}
// kernel cg_memcpy grid 2 block 64
// in x float32 = rng.random(512)
// out y float32 = x + 1
extern "C" __global__ void cg_memcpy(const float *x, float *y) {
  __shared__ float s[256]; auto b = cg::this_thread_block();
  cg::memcpy_async(b, s, x + blockIdx.x * 256, sizeof(s)); cg::wait(b);
  for (int i = b.thread_rank(); i < 256; i += b.size()) y[blockIdx.x * 256 + i] = s[i] + 1;
}
// kernel cg_grid grid 4 block 32 cooperative yes
// inout x int32 = np.arange(128) -> np.arange(128)[::-1] + 128
extern "C" __global__ void cg_grid(int *x) {
  auto g = cg::this_grid(); int i = g.thread_rank(); int v = x[127 - i]; g.sync(); x[i] = v + g.size();
}
// kernel std_types grid 1 block 32
// in x float32 = rng.standard_normal(32)
// out y float32 = np.where(x > 0, np.sqrt(np.abs(x)), -1).astype(np.float32) + np.float32(0)
// out z float32 = np.stack([x * x - 1, 2 * x], 1).astype(np.float32)
// out n int32 = [bin(i).count('1') + 32 for i in range(32)]
__device__ cuda::std::optional<float> root(float v) { if (v > 0) return sqrtf(v); return cuda::std::nullopt; }
extern "C" __global__ void std_types(const float *x, float *y, float *z, int *n) {
  int t = threadIdx.x; cuda::std::array<float, 4> a{x[t], 2, 3, 4}; cuda::std::span<float> s(a.data(), 4);
  y[t] = root(s[0]).value_or(-1.0f);
  cuda::std::complex<float> c(x[t], 1.0f); c = c * c; z[2 * t] = c.real(); z[2 * t + 1] = c.imag();
  auto [p, q] = cuda::std::make_tuple(cuda::std::popcount((unsigned)t), cuda::std::numeric_limits<unsigned>::digits);
  n[t] = cuda::std::max(p, 0) + q; 
}
// kernel refs grid 4 block 64
// inout c int32 = np.zeros(4) -> [64, 64, 64, 64]
// inout m int32 = [0] -> [255]
extern "C" __global__ void refs(int *c, int *m) {
  cuda::atomic_ref<int, cuda::thread_scope_device> r(c[threadIdx.x % 4]); r.fetch_add(1, cuda::memory_order_relaxed);
  cuda::atomic_ref<int> top(*m); top.fetch_max(blockIdx.x * 64 + threadIdx.x);
}
// kernel pipeline grid 2 block 64
// in x float32 = rng.random(1024)
// out y float32 = x * 3
extern "C" __global__ void pipeline(const float *x, float *y) {
  __shared__ float s[2][64]; __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
  auto b = cg::this_thread_block(); auto p = cuda::make_pipeline(b, &st); const float *in = x + blockIdx.x * 512;
  for (int f = 0, c = 0; c < 8; c++) {
    for (; f < 8 && f < c + 2; f++) { p.producer_acquire(); cuda::memcpy_async(b, s[f % 2], in + f * 64, sizeof(float) * 64, p); p.producer_commit(); }
    p.consumer_wait(); y[blockIdx.x * 512 + c * 64 + threadIdx.x] = 3 * s[c % 2][threadIdx.x]; p.consumer_release();
  }
}
// kernel barrier grid 1 block 64
// in x int32 = rng.integers(0, 99, 64)
// out y int32 = x[::-1] * 2
extern "C" __global__ void barrier(const int *x, int *y) {
  __shared__ int s[64]; __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, 64); __syncthreads();
  s[threadIdx.x] = x[threadIdx.x]; auto token = bar.arrive(); int two = 2; bar.wait(cuda::std::move(token));
  y[threadIdx.x] = two * s[63 - threadIdx.x];
}
// kernel cub_block grid 2 block 64
// in x int32 = rng.integers(-1000, 1000, 512)
// out y int32 = np.sort(x.reshape(2, 256), 1).ravel()
// out s int32 = x.reshape(2, 256).sum(1)
// out c int32 = x.reshape(2, 256).cumsum(1).ravel()
extern "C" __global__ void cub_block(const int *x, int *y, int *s, int *c) {
  using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>; using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 64, 4>; using Sum = cub::BlockReduce<int, 64>; using Scan = cub::BlockScan<int, 64>;
  __shared__ union { Load::TempStorage l; Store::TempStorage st; Sort::TempStorage so; Sum::TempStorage su; Scan::TempStorage sc; } u;
  int v[4], w[4]; Load(u.l).Load(x + blockIdx.x * 256, v); __syncthreads();
  int total = Sum(u.su).Sum(v); if (threadIdx.x == 0) s[blockIdx.x] = total; __syncthreads();
  Scan(u.sc).InclusiveSum(v, w); __syncthreads(); Store(u.st).Store(c + blockIdx.x * 256, w); __syncthreads();
  Sort(u.so).Sort(v); __syncthreads(); Store(u.st).Store(y + blockIdx.x * 256, v);
}
// kernel cub_warp grid 1 block 64
// in x float32 = rng.integers(0, 99, 64)
// out m float32 = x.reshape(2, 32).max(1)
// out p float32 = x.reshape(2, 32).cumsum(1).ravel()
extern "C" __global__ void cub_warp(const float *x, float *m, float *p) {
  using R = cub::WarpReduce<float>; using S = cub::WarpScan<float>; __shared__ R::TempStorage r[2]; __shared__ S::TempStorage s[2];
  int w = threadIdx.x / 32; float v = x[threadIdx.x];
  float top = R(r[w]).Reduce(v, [](float a, float b) { return a > b ? a : b; }); if (threadIdx.x % 32 == 0) m[w] = top;
  float q; S(s[w]).InclusiveSum(v, q); p[threadIdx.x] = q;
}
// kernel cub_more grid 1 block 128
// in x uint8 = rng.integers(0, 16, 512)
// out h uint32 = np.bincount(x, minlength=16)
// out f int32 = np.concatenate([[1], (x[::4][1:] != x[::4][:-1]).astype(int)])
// out e int32 = x[::4]
extern "C" __global__ void cub_more(const unsigned char *x, unsigned *h, int *f, int *e) {
  using H = cub::BlockHistogram<unsigned char, 128, 4, 16>; using D = cub::BlockDiscontinuity<int, 128>; using X = cub::BlockExchange<int, 128, 1>;
  __shared__ union { H::TempStorage h; D::TempStorage d; X::TempStorage x; } u; __shared__ unsigned bins[16];
  unsigned char v[4]; for (int k = 0; k < 4; k++) v[k] = x[threadIdx.x * 4 + k];
  int one[1] = {v[0]}, flag[1];
  H(u.h).Histogram(v, bins); __syncthreads(); if (threadIdx.x < 16) h[threadIdx.x] = bins[threadIdx.x]; __syncthreads();
  D(u.d).FlagHeads(flag, one, cuda::std::not_equal_to<>()); f[threadIdx.x] = flag[0]; __syncthreads();
  X(u.x).BlockedToStriped(one); e[threadIdx.x] = one[0];
}
// kernel cub_shuffle grid 1 block 64
// in k uint32 = rng.integers(0, 1000, 128)
// out o uint32 = np.sort(k)
// out i int32 = np.argsort(k, kind='stable')
extern "C" __global__ void cub_shuffle(const unsigned *k, unsigned *o, int *i) {
  using Sort = cub::BlockRadixSort<unsigned, 64, 2, int>; __shared__ Sort::TempStorage s; unsigned key[2]; int v[2];
  for (int q = 0; q < 2; q++) { key[q] = k[threadIdx.x * 2 + q]; v[q] = threadIdx.x * 2 + q; }
  Sort(s).SortBlockedToStriped(key, v);
  for (int q = 0; q < 2; q++) { o[q * 64 + threadIdx.x] = key[q]; i[q * 64 + threadIdx.x] = v[q]; }
}
