// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ unsigned long long gate;
  __shared__ int s[64];
  int t = threadIdx.x;
  unsigned long long token;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" :: "r"(address(&gate)) : "memory");
  __syncthreads();
  if (t >= 32) {
    s[t] = in[t];
    asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(token) : "r"(address(&gate)) : "memory");
    out[t] = 0;
    return;
  }
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(address(&gate)) : "memory");
  int done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(address(&gate)), "l"(token)
                 : "memory");
  out[t] = s[63 - t];
}
