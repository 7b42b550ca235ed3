#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

// kernel raking grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = x.reshape(4, 512).cumsum(1).ravel()
extern "C" __global__ void raking(const int *in, int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Scan::TempStorage temp;
  int items[4], at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) items[i] = in[at + i];
  Scan(temp).InclusiveSum(items, items);
  for (int i = 0; i < 4; ++i) out[at + i] = items[i];
}

// kernel raking_memoize grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = x.reshape(4, 512).cumsum(1).ravel()
extern "C" __global__ void raking_memoize(const int *in, int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
  __shared__ typename Scan::TempStorage temp;
  int items[4], at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) items[i] = in[at + i];
  Scan(temp).InclusiveSum(items, items);
  for (int i = 0; i < 4; ++i) out[at + i] = items[i];
}

// kernel by_warps grid 4 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = x.reshape(4, 512).cumsum(1).ravel()
extern "C" __global__ void by_warps(const int *in, int *out) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage temp;
  int items[4], at = (blockIdx.x * 128 + threadIdx.x) * 4;
  for (int i = 0; i < 4; ++i) items[i] = in[at + i];
  Scan(temp).InclusiveSum(items, items);
  for (int i = 0; i < 4; ++i) out[at + i] = items[i];
}

// kernel one_warp grid 16 block 128
// in x int32 = rng.integers(-1000, 1000, 2048)
// out out int32 = (x.reshape(-1, 32).cumsum(1) - x.reshape(-1, 32)).ravel()
extern "C" __global__ void one_warp(const int *in, int *out) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage temp[4];
  int t = threadIdx.x, at = blockIdx.x * 128 + t, before;
  Scan(temp[t / 32]).ExclusiveSum(in[at], before);
  out[at] = before;
}
