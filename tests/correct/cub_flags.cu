#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cuda/atomic>
#include <cuda/std/array>

// kernel heads grid 1 block 128
// in x int32 = rng.integers(0, 3, 512)
// out out int32 = np.append(1, np.diff(x) != 0) + 2 * np.append(x[1:], -1)
extern "C" __global__ void heads(const int *in, int *out) {
  using Discontinuity = cub::BlockDiscontinuity<int, 128>;
  using Shuffle = cub::BlockShuffle<int, 128>;
  __shared__ typename Discontinuity::TempStorage heads_temp;
  __shared__ typename Shuffle::TempStorage shuffle_temp;
  int items[4], flags[4], base = (blockIdx.x * 128 + threadIdx.x) * 4, next = -1;
  for (int i = 0; i < 4; ++i) items[i] = in[base + i];
  Discontinuity(heads_temp).FlagHeads(flags, items, [](int a, int b) { return a != b; });
  Shuffle(shuffle_temp).Offset(items[0], next, 1);
  for (int i = 0; i < 4; ++i) out[base + i] = flags[i] + 2 * (i == 3 ? next : items[i + 1]);
}

// kernel atomic_ref grid 4 block 128
// in x int32 = rng.integers(0, 100, 512)
// inout bins int32 = np.zeros(16) -> np.bincount(x & 15, minlength=16)
extern "C" __global__ void atomic_ref(const int *in, int *bins) {
  cuda::std::array<int, 2> x = {in[blockIdx.x * 128 + threadIdx.x], 1};
  cuda::atomic_ref<int, cuda::thread_scope_device> bin(bins[x[0] & 15]);
  bin.fetch_add(x[1], cuda::memory_order_relaxed);
}
