// Functions in which lanes of a warp wait for each other, one by one: a lock, and votes after a wait.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

__device__ __noinline__ void lock(int *m) { while (atomicCAS(m, 0, 1) != 0) ; __threadfence(); }
__device__ __noinline__ void unlock(int *m) { __threadfence(); atomicExch(m, 0); }

// kernel lanes_lock_in_function grid 2 block 16
// inout m int32 = [0] -> [0]
// inout n int32 = [0] -> [32]
extern "C" __global__ void lanes_lock_in_function(int *m, int *n) {
  lock(m);
  *n = *n + 1;
  unlock(m);
}

enum : unsigned { X, A, P };

// warp-wide look-back over a window of 32 predecessors, as CUB does
// kernel scan_window grid 36 block 32
// in x int32 = np.arange(1152) % 5
// out y int32 = np.cumsum(x)
// inout state uint64 = np.zeros(36) -> _
extern "C" __global__ void scan_window(const int *x, int *y, unsigned long long *state) {
  int lane = threadIdx.x, tile = blockIdx.x, i = tile * 32 + lane;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int v = cg::inclusive_scan(warp, x[i]);
  int agg = warp.shfl(v, 31);
  if (lane == 0) atomicExch(&state[tile], (unsigned long long)(tile ? A : P) << 32 | unsigned(agg));
  int sum = 0;
  for (int base = tile - 1; base >= 0; base -= 32) {
    int j = base - lane;
    unsigned long long w;
    do w = j >= 0 ? *(volatile unsigned long long *)&state[j] : (unsigned long long)P << 32;
    while (__any_sync(~0u, w >> 32 == X));
    unsigned full = __ballot_sync(~0u, w >> 32 == P);
    int first = __ffs(full) - 1;
    int part = (full == 0 || lane <= first) ? int(w) : 0;
    sum += cg::reduce(warp, part, cg::plus<int>());
    if (full) break;
  }
  if (lane == 0 && tile) atomicExch(&state[tile], (unsigned long long)P << 32 | unsigned(sum + agg));
  y[i] = v + sum;
}
