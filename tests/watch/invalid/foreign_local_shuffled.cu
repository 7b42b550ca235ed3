// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 8
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, a[4];
  for (int i = 0; i < 4; i++) a[i] = in[(t + i) & 63];
  unsigned long long p = (unsigned long long)a;
  int *first = (int *)__shfl_sync(~0u, p, 0);
  out[t] = first[in[t] & 3];
}
