// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: timeout error variable bar
__device__ void wait(unsigned bar, unsigned parity) {
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }" : //@1
                 "=r"(done) : "r"(bar), "r"(parity) : "memory");
}
extern "C" __global__ void k(int *out) {
  __shared__ unsigned long long bar;
  __shared__ int s[64];
  int t = threadIdx.x;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 65;" : : "r"(at) : "memory");
  __syncthreads();
  s[t] = t;
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(at) : "memory");
  wait(at, 0);
  out[t] = s[63 - t];
}
