// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
#include <cooperative_groups.h>
extern "C" __global__ void k(const int *in, int *out) {
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x;
  if (blockDim.x >= 64)
    block.sync();
  out[t] = in[t];
}
