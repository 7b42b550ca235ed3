// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 64, "out"]]}
// expect: race error line 14 variable s
__device__ unsigned address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64], c[64];
  int t = threadIdx.x, even = t & 62;
  float v = in[t], near, far;
  asm volatile("st.shared.f32 [%0], %1;" :: "r"(address(&s[t])), "f"(v) : "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address(&c[t])), "l"(in + 64 + t) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(near) : "r"(address(&s[t])) : "memory");
  __syncwarp();
  if (t % 2) asm volatile("st.shared.f32 [%0+4], %1;" :: "r"(address(&s[even])), "f"(v) : "memory");
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(far) : "r"(address(&s[63 - t])) : "memory");
  out[t] = near + far + c[t];
}
