// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cstdint>
__device__ void wait(unsigned bar, unsigned parity) {
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
}
__device__ void arrive(unsigned bar) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(bar) : "memory"); }
extern "C" __global__ void k(const int* in, int* out) {
  __shared__ int tile[2][32];
  __shared__ alignas(8) uint64_t full;
  unsigned bar = (unsigned)__cvta_generic_to_shared(&full);
  int t = threadIdx.x % 32;
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(bar) : "memory");
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int stage = 0; stage < 2; ++stage) {
      tile[stage][t] = in[32 * stage + t];
      if (stage == 0 || t < 31) arrive(bar);  // the second phase is never complete
    }
  } else {
    for (int stage = 0; stage < 2; ++stage) {
      wait(bar, 0);
      out[32 * stage + t] = tile[0][31 - t];
    }
  }
}
