// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[128]; int t = threadIdx.x;
  s[t] = in[t];
  int count = t < 64 ? 128 : 64 + 64;
  asm volatile("bar.sync 1, %0;" ::"r"(count) : "memory");
  out[t] = s[127 - t];
}
