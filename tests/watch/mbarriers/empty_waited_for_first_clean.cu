// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 48], ["int32", 32, "out"]]}
// expect: clean
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ bool test(unsigned long long *b, int parity) {
  int ok;
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
               : "=r"(ok) : "r"(at(b)), "r"(parity) : "memory");
  return ok;
}
__device__ void arrive(unsigned long long *b) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(at(b)) : "memory");
}
__device__ void start(unsigned long long *b, int n) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
}
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ unsigned long long full, empty;
  __shared__ int s[16];
  int t = threadIdx.x, sum = 0;
  if (t == 0) { start(&full, 16); start(&empty, 16); }
  __syncthreads();
  for (int k = 0; k < 3; ++k) {
    if (t < 16) {
      while (!test(&empty, k & 1 ^ 1)) {}
      s[t] = x[k * 16 + t];
      arrive(&full);
    } else {
      while (!test(&full, k & 1)) {}
      sum += s[31 - t];
      arrive(&empty);
    }
  }
  y[t] = sum;
}
