// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int *arrived) {
  __shared__ int s[64]; int t = threadIdx.x;
  s[t] = in[t];
  if (atomicAdd(arrived, 1) > 1000) __threadfence();
  asm volatile("bar.sync 0, 32;" ::: "memory");
  out[t] = s[t ^ 31];
}
