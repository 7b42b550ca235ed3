// launch: {"kernel": "st", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint64", 1, "zero"], ["int32", 13, "zero"], ["int32", 13, "zero"], ["int32", 1, "zero"]]}
// expect: race error hazard RAW variable next
typedef unsigned long long u64;
__device__ void push(u64 *top, int *next, int n) {
  u64 old = *(volatile u64 *)top, now;
  do {
    now = old;
    next[n] = (int)(unsigned)now;
    old = atomicCAS(top, now, ((now >> 32) + 1) << 32 | (unsigned)n);
  } while (old != now);
}
__device__ int pop(u64 *top, int *next) {
  u64 old = *(volatile u64 *)top, now;
  do {
    now = old;
    __threadfence();
    int n = (int)(unsigned)now;
    if (n == 0) return 0;
    int after = *(volatile int *)&next[n];
    old = atomicCAS(top, now, ((now >> 32) + 1) << 32 | (unsigned)after);
  } while (old != now);
  return (int)(unsigned)now;
}
extern "C" __global__ void st(u64 *top, int *next, int *val, int *sum) {
  if (threadIdx.x) return;
  for (int k = 0; k < 4; ++k) {
    int n = 1 + blockIdx.x * 4 + k;
    val[n] = n;
    push(top, next, n);
  }
  for (int k = 0; k < 4; ++k) {
    int n;
    while ((n = pop(top, next)) == 0) {}
    atomicAdd(sum, val[n]);
  }
}
