// One atomic for a group reserves elements for all its threads: as many as they write.

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// kernel kept_by_groups grid 1 block 64
// in x int32 = np.arange(64)
// inout n int32 = [0] -> [42]
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void kept_by_groups(const int *x, int *n, int *y) {
  int v = x[threadIdx.x];
  if (v % 3) {
    auto g = cg::coalesced_threads();
    int base;
    if (g.thread_rank() == 0) base = atomicAdd(n, g.size());
    y[g.shfl(base, 0) + g.thread_rank()] = v;
  }
}

// kernel kept_by_groups_of_one grid 1 block 64
// in x int32 = np.arange(64)
// inout n int32 = [0] -> _
// inout y int32 = np.zeros(64) -> _
// hints Line N< reserves one element (it adds 1), but more than one are written from the index that it returns: the next addition returns one of them. Add the number of elements that are written
extern "C" __global__ void kept_by_groups_of_one(const int *x, int *n, int *y) {
  int v = x[threadIdx.x];
  if (v % 3) {
    auto g = cg::coalesced_threads();
    int base;
    if (g.thread_rank() == 0) base = atomicAdd(n, 1);  // <N
    y[g.shfl(base, 0) + g.thread_rank()] = v;  // <- race
  }
}

// kernel kept_by_blocks_of_one grid 2 block 64
// in x int32 = np.arange(128)
// inout n int32 = [0] -> _
// inout y int32 = np.zeros(128) -> _
// hints Line N< reserves one element (it adds 1), but more than one are written
extern "C" __global__ void kept_by_blocks_of_one(const int *x, int *n, int *y) {
  __shared__ int count, base;
  int t = threadIdx.x, v = x[blockIdx.x * 64 + t], own = 0;
  if (t == 0) count = 0;
  __syncthreads();
  if (v & 1) own = atomicAdd(&count, 1);
  __syncthreads();
  if (t == 0) base = atomicAdd(n, 1);  // <N
  __syncthreads();
  if (v & 1) y[base + own] = v;  // <- race
}

// kernel pairs_of_one grid 1 block 64
// in x int32 = np.arange(64)
// inout n int32 = [0] -> _
// inout y int32 = np.zeros(130) -> _
// hints Line N< reserves one element (it adds 1), but more than one are written
extern "C" __global__ void pairs_of_one(const int *x, int *n, int *y) {
  int p = atomicAdd(n, 1);  // <N
  y[p] = x[threadIdx.x];  // <- race
  y[p + 1] = -x[threadIdx.x];  // <- race
}

// kernel slots_of_a_small_ring grid 1 block 64
// in x int32 = np.arange(64)
// inout n int32 = [0] -> _
// inout y int32 = np.zeros(16) -> _
// finds race error y[
// hints Two threads write the same element. Check the index
extern "C" __global__ void slots_of_a_small_ring(const int *x, int *n, int *y) {
  int base = 0;
  if (threadIdx.x % 32 == 0) base = atomicAdd(n, 1);
  base = __shfl_sync(~0u, base, 0);
  y[(base + threadIdx.x) % 16] = x[threadIdx.x];  // <- race
}
