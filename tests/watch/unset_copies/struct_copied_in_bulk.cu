// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float64", 64, "out"], ["float32", 32, "out"]]}
// expect: uninitialized-read error line 14
#include <cooperative_groups.h>
#include <cuda/barrier>
struct __align__(16) Item { double d; float f; };
extern "C" __global__ void k(const float *in, Item *items, float *out) {
  __shared__ Item s[32];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  auto block = cooperative_groups::this_thread_block();
  int t = threadIdx.x;
  if (t == 0) init(&bar, 32);
  items[t].d = in[t]; if (t != 5) items[t].f = in[t];
  __syncthreads();
  cuda::memcpy_async(block, s, items, cuda::aligned_size_t<16>(sizeof s), bar);
  bar.arrive_and_wait();
  out[t] = s[31 - t].d + s[31 - t].f;
}
