// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: uninitialized-read error line 7 variable mine
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int mine;
  if (t < n) mine = in[at];
  asm volatile("red.global.add.s32 [%0], %1;" : : "l"(out), "r"(mine) : "memory");
}
