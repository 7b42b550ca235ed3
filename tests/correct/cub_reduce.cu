#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>

// kernel raking grid 4 block 100
// in x int32 = rng.integers(-1000, 1000, 400)
// out out int32 = x.reshape(4, 100).sum(1)
extern "C" __global__ void raking(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, 100, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage temp;
  int sum = Reduce(temp).Sum(in[blockIdx.x * 100 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// kernel raking_commutative grid 4 block 100
// in x int32 = rng.integers(-1000, 1000, 400)
// out out int32 = x.reshape(4, 100).sum(1)
extern "C" __global__ void raking_commutative(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, 100, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>;
  __shared__ typename Reduce::TempStorage temp;
  int sum = Reduce(temp).Sum(in[blockIdx.x * 100 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// kernel by_warps grid 4 block 100
// in x int32 = rng.integers(-1000, 1000, 400)
// out out int32 = x.reshape(4, 100).sum(1)
extern "C" __global__ void by_warps(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, 100, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ typename Reduce::TempStorage temp;
  int sum = Reduce(temp).Sum(in[blockIdx.x * 100 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// kernel twice grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = np.stack([x.reshape(4, 512).max(1), x.reshape(4, 512)[:, :400:4].sum(1)], 1)
extern "C" __global__ void twice(const int *in, int *out) {
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ typename Reduce::TempStorage temp;
  int items[4];
  for (int i = 0; i < 4; ++i) items[i] = in[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
  int most = Reduce(temp).Reduce(items, [](int a, int b) { return a > b ? a : b; });
  __syncthreads();
  int first = Reduce(temp).Sum(items[0], 100);
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = most;
    out[2 * blockIdx.x + 1] = first;
  }
}

// kernel by_eight grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 512)
// out out int32 = x.reshape(64, 8).sum(1)
extern "C" __global__ void by_eight(const int *in, int *out) {
  using Reduce = cub::WarpReduce<int, 8>;
  __shared__ typename Reduce::TempStorage temp[16];
  int t = threadIdx.x, at = blockIdx.x * 128 + t, sum = Reduce(temp[t / 8]).Sum(in[at]);
  if (t % 8 == 0) out[at / 8] = sum;
}
