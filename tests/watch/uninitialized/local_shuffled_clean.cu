// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int v, w;
  if (t % 32 == 0) v = in[at];
  asm volatile("shfl.sync.idx.b32 %0, %1, 0, 31, 0xffffffff;" : "=r"(w) : "r"(v));
  out[at] = w + 1;
}
