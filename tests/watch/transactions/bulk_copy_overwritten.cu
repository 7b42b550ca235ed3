// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error line 13 variable s
#include <cuda/barrier>
#include <cooperative_groups.h>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const float *in, float *out) {
  alignas(16) __shared__ float s[256];
  __shared__ barrier bar;
  auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  cuda::memcpy_async(block, s, in, cuda::aligned_size_t<16>(1024), bar);
   s[threadIdx.x] = 0; 
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < 256; i += 64) out[i] = s[255 - i];
}
