// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int v;
  if (t % 32 == 1) v = in[at];
  v = __shfl_sync(0xffffffff, v, 1);
  out[at] = v;
}
