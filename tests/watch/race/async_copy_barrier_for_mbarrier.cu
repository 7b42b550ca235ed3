// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"]]}
// expect: race error line 21 hazard RAW variable s
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void wait(unsigned bar, unsigned parity) {
  asm volatile(
      "{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }" : :
      "r"(bar), "r"(parity) : "memory");
}
__device__ void copy(unsigned to, const float *from, unsigned bar) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(to), "l"(from) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(bar) : "memory");
}
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ unsigned long long bar;
  __shared__ float s[64];
  int t = threadIdx.x, base = blockIdx.x * 64;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" : : "r"(place(&bar)));
  __syncthreads();
  copy(place(&s[t]), &in[base + t], place(&bar));
  __syncthreads();
  out[base + t] = s[63 - t];
  wait(place(&bar), 0);
}
