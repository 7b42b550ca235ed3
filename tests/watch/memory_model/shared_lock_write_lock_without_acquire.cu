// launch: {"kernel": "r", "grid": [5, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 2, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable d
__device__ void read_lock(int *l) {
  for (;;) {
    int v = *(volatile int *)l;
    if (v >= 0 && atomicCAS(l, v, v + 1) == v) break;
  }
  __threadfence();
}
__device__ void read_unlock(int *l) { __threadfence(); atomicSub(l, 1); }
__device__ void write_lock(int *l) { while (atomicCAS(l, 0, -1) != 0) {} }
__device__ void write_unlock(int *l) { __threadfence(); atomicExch(l, 0); }
extern "C" __global__ void r(int *lk, int *d, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x < 2) {
    for (int k = 0; k < 2; ++k) { write_lock(lk); d[0]++; d[1]++; write_unlock(lk); }
  } else {
    for (int k = 0; k < 2; ++k) { read_lock(lk); if (d[0] != d[1]) atomicAdd(bad, 1); read_unlock(lk); }
  }
}
