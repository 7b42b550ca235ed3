// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 64, "out"]]}
// expect: race error line 14 hazard RAW variable s
// first: race line 14 hazard RAW variable s
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int s[64];
  auto block = cg::this_thread_block();
  int sum = 0;
  for (int k = 0; k < 4; ++k) {
    cg::memcpy_async(block, s, x + k * 64, sizeof(int) * 64);
    block.sync();
    sum += s[63 - block.thread_rank()];
    block.sync();
  }
  y[block.thread_rank()] = sum;
}
