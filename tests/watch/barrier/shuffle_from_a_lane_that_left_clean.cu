// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t >= 31) return;
  int v = in[t];
  v = __shfl_down_sync(0x7fffffff, v, 1);
  if (t < 30) out[t] = v;
}
