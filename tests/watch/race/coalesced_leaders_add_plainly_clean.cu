// launch: {"kernel": "filter", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1, "zero"], ["int32", 128, "zero"]]}
// expect: clean
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__device__ int inc(int *p) {
  cg::coalesced_group g = cg::coalesced_threads();
  int base = 0;
  if (g.thread_rank() == 0) base = atomicAdd(p, g.num_threads());
  return g.shfl(base, 0) + g.thread_rank();
}
extern "C" __global__ void filter(const int *x, int *n, int *y) {
  int i = blockIdx.x * 64 + threadIdx.x;
  if (x[i] > 4) y[inc(n)] = x[i];
}
