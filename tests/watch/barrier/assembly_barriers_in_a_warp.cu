// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"]]}
// expect: barrier-divergence error
extern "C" __global__ void k(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (t % 2)
    asm volatile("bar.sync 0;" ::: "memory");
  else
    asm volatile("bar.sync 0;" ::: "memory");
  out[t] = s[63 - t];
}
