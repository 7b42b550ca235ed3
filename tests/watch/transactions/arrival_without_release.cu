// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: race error line 18 hazard RAW variable tile
#include <cstdint>
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ int tile[32];
  __shared__ alignas(8) uint64_t full;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  int t = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(bar) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    tile[t] = in[t];
    asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
  } else {
    int done = 0;
    while (!done)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar) : "memory");
    out[t] = tile[31 - t];
  }
}
