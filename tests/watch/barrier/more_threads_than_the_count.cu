// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[128]; int t = threadIdx.x;
  s[t] = in[t];
  asm volatile("bar.sync 1, 64;" ::: "memory");
  out[t] = s[t ^ 32];
}
