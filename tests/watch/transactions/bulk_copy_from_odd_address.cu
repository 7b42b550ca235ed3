// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["float32", 256], ["float32", 64, "out"]]}
// expect: invalid-access error line 13 variable in
// expect: uninitialized-read error line 15 variable s
#include <cuda/barrier>
#include <cooperative_groups.h>
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(const float *in, float *out) {
    alignas(16) __shared__ float s[128];
    __shared__ barrier bar;
    auto block = cooperative_groups::this_thread_block();
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    cuda::memcpy_async(block, s, in + 1, cuda::aligned_size_t<16>(512), bar);
    bar.arrive_and_wait();
    out[threadIdx.x] = s[threadIdx.x];
}
