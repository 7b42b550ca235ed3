// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 6
extern "C" __global__ void k(const int *in, int *out) {
  int a[8], t = threadIdx.x;
  for (int i = 0; i < 8; ++i) a[i] = in[t] + i;
  out[t] = a[in[t] + 100000];
}
