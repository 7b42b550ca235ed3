// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint64", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error
extern "C" __global__ void k(unsigned long long *last, int *bad) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  unsigned long long before = *last; if (before < now) *last = now;
  if (before > now && before - now > (1ull << 40)) atomicAdd(bad, 1);
}
