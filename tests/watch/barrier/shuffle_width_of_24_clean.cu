// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
// PTX takes any mask of segments in inline assembly; here it is one of 8 lanes in the upper half alone.
extern "C" __global__ void k(const int *x, int *out) {
  int t = threadIdx.x, v = x[t], other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x081f, 0xffffffff;" : "=r"(other) : "r"(v));
  v += other + __shfl_xor_sync(~0u, v, 1, 8) + __shfl_up_sync(~0u, v, 1, 1);
  out[t] = v + __shfl_down_sync(~0u, v, 3, 16) + __shfl_sync(~0u, v, 2, 4);
}
