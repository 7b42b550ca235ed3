// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: invalid-access error line 7 variable in
extern "C" __global__ void k(const float *in, float *out) {
  alignas(16) __shared__ float s[256];
  int t = threadIdx.x;
  unsigned to = (unsigned)__cvta_generic_to_shared(&s[4 * t]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" : : "r"(to), "l"(in + 4 * t), "r"(t < 60 ? 16 : 20) : "memory");
  asm volatile("cp.async.wait_all;" : : : "memory");
  out[t] = s[4 * t];
}
