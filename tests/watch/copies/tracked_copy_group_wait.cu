// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error line 14 hazard RAW variable s
__device__ unsigned place(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ unsigned long long bar;
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" : : "r"(place(&bar)));
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(place(&s[t])), "l"(in + t) : "memory");
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" : : "r"(place(&bar)) : "memory");
  asm volatile("cp.async.wait_group 0;" : : : "memory");  // the copy is in no group yet
  __syncthreads();
  out[t] = s[63 - t];
}
