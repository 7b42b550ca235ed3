// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 1, "zero"], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *n, int *out) {
  unsigned m = __ballot_sync(~0u, x[threadIdx.x] > 40);
  int base = 0, lane = threadIdx.x & 31;
  if (m && lane == __ffs(m) - 1) base = atomicAdd(n, __popc(m));
  base = __shfl_sync(~0u, base, m ? __ffs(m) - 1 : 0);
  if (m >> lane & 1) out[base + __popc(m & ((1u << lane) - 1))] = threadIdx.x;
}
