// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  auto block = cg::this_thread_block();
  s[t] = in[t];
  if (t < 40) block.sync();
  else s[t] = 0;
  block.sync();
  out[t] = s[t];
}
