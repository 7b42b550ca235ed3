// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error line 30 hazard WAR variable in
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(unsigned bar, unsigned count) {
  asm volatile("mbarrier.init.shared.b64 [%0], %1; fence.proxy.async;" : : "r"(bar), "r"(count) : "memory");
}
__device__ void expect(unsigned bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" : : "r"(bar), "r"(bytes) : "memory");
}
__device__ void arrive(unsigned bar) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" : : "r"(bar) : "memory"); }
__device__ void wait(unsigned bar, unsigned parity) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra W; }" : :
               "r"(bar), "r"(parity) : "memory");
}
__device__ void copy(float *to, const float *from, unsigned bytes, unsigned bar) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" : :
               "r"(place(to)), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
extern "C" __global__ void k(float *in, float *out) {
  alignas(128) __shared__ float s[256];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) init(place(&bar), 1);
  __syncthreads();
  if (t == 0) {
    expect(place(&bar), sizeof s);
    copy(s, in, sizeof s, place(&bar));
  }
  __syncthreads();
  in[t] = 0;
  wait(place(&bar), 0);
  for (int i = t; i < 256; i += 64) out[i] = s[255 - i];
}
