// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: clean
// Not aligned, or in branches that whole warps take.
extern "C" __global__ void k(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t & 1) {
    s[t] = t;
    asm volatile("barrier.sync 1, 64;" ::: "memory");
  } else {
    s[t] = 2 * t;
    asm volatile("barrier.sync 1, 64;" ::: "memory");
  }
  int other = s[63 - t];
  if (t < 32) asm volatile("bar.sync 2, 64;" ::: "memory");
  else asm volatile("bar.sync 2, 64;" ::: "memory");
  out[t] = other;
}
