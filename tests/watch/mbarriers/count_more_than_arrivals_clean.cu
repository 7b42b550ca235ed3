// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ bool passed(unsigned long long *b, unsigned parity) {
  unsigned at = __cvta_generic_to_shared(b), ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
               : "=r"(ok) : "r"(at), "r"(parity) : "memory");
  return ok;
}
__device__ void arrive(unsigned long long *b) {
  unsigned at = __cvta_generic_to_shared(b);
  asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at) : "memory");
}
__device__ void init(unsigned long long *b, unsigned n) {
  unsigned at = __cvta_generic_to_shared(b);
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(n) : "memory");
}
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ unsigned long long full;
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t == 0) init(&full, 32);
  __syncthreads();
  if (t < 32) {
    s[t] = x[t];
    arrive(&full);
  } else {
    while (!passed(&full, 0)) {}
    y[t - 32] = s[63 - t];
  }
}
