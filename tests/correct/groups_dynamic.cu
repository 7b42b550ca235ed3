// kernel threadrank grid 2 block 32
// in x int32 = rng.integers(0,99,100)
// value n int32 = 100
// out y int32 = x+1
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void threadrank(const int *x, int n, int *y) {
  cg::grid_group g = cg::this_grid();
  for (int i = g.thread_rank(); i < n; i += g.size()) y[i] = x[i] + 1;
}
// kernel tg grid 1 block 64
// in x int32 = rng.integers(0,99,64)
// out y int32 = np.array([x.sum()])
__device__ int reduce_sum(cg::thread_group g, int *temp, int val) {
  int lane = g.thread_rank();
  for (int i = g.size() / 2; i > 0; i /= 2) {
    temp[lane] = val;
    g.sync();
    if (lane < i) val += temp[lane + i];
    g.sync();
  }
  return val;
}
extern "C" __global__ void tg(const int *x, int *y) {
  __shared__ int temp[64];
  auto g = cg::this_thread_block();
  int s = reduce_sum(g, temp, x[threadIdx.x]);
  if (g.thread_rank() == 0) *y = s;
}
// kernel tg2 grid 1 block 64
// in x int32 = rng.integers(0,99,64)
// out y int32 = x.reshape(4,16).sum(1)
extern "C" __global__ void tg2(const int *x, int *y) {
  __shared__ int temp[64];
  auto g = cg::this_thread_block();
  auto tile = cg::tiled_partition(g, 16);
  int s = reduce_sum(tile, temp + (threadIdx.x / 16) * 16, x[threadIdx.x]);
  if (tile.thread_rank() == 0) y[threadIdx.x / 16] = s;
}
