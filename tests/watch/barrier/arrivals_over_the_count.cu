// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 8
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64]; int t = threadIdx.x;
  if (t < 64) {
    s[t] = in[t];
    asm volatile("bar.arrive 2, 96;" ::: "memory");
  } else { asm volatile("bar.sync 2, 96;" ::: "memory");
    out[t] = s[t - 64];
  }
}
