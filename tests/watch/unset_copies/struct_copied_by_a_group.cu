// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float64", 64, "out"], ["float32", 32, "out"]]}
// expect: uninitialized-read error line 13
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
struct __align__(16) Item { double d; float f; };
extern "C" __global__ void k(const float *in, Item *items, float *out) {
  __shared__ Item s[32];
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x;
  items[t].d = in[t];
  __syncthreads();

  cooperative_groups::memcpy_async(block, s, items, sizeof s);
  cooperative_groups::wait(block);
  out[t] = s[31 - t].d + s[31 - t].f;
}
