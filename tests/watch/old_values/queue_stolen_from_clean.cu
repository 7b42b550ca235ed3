// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 2, "zero"], ["int32", 32, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *heads, int *out) {
  if (threadIdx.x) return;
  int own = blockIdx.x, left = 2;
  while (left) {
    int i = *(volatile int *)&heads[own] < 16 ? atomicAdd(&heads[own], 1) : 16;
    if (i < 16) out[own * 16 + i] = in[own * 16 + i] * 2;
    else { own ^= 1; --left; }
  }
}
