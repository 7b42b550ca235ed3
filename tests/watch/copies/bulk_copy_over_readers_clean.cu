// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
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
extern "C" __global__ void k(const float *in, float *out) {
  alignas(128) __shared__ float s[2][32];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x, lane = t % 32;
  if (t == 0)
    for (int stage = 0; stage < 2; stage++) {
      init(place(&full[stage]), 1);
      init(place(&empty[stage]), 32);
    }
  __syncthreads();
  if (t < 32) {  // one lane of the first warp copies, the other warp reads
    for (int round = 0; round < 8 && lane == 0; round++) {
      int stage = round % 2, phase = round / 2 % 2;
      wait(place(&empty[stage]), phase ^ 1);
      expect(place(&full[stage]), sizeof s[0]);
      copy(s[stage], in + 32 * round, sizeof s[0], place(&full[stage]));
    }
  } else {
    for (int round = 0; round < 8; round++) {
      int stage = round % 2, phase = round / 2 % 2;
      wait(place(&full[stage]), phase);
      out[32 * round + lane] = s[stage][31 - lane];
      arrive(place(&empty[stage]));
    }
  }
  __syncthreads();
  if (t == 0)
    for (int stage = 0; stage < 2; stage++)
      asm volatile("mbarrier.inval.shared.b64 [%0];" : : "r"(place(&full[stage])) : "memory");
}
