// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64], changed;
  int t = threadIdx.x;
  s[t] = in[t];
  do {
    __syncthreads();
    if (t == 0) changed = 0;
    __syncthreads();
    for (int p = 0; p < 2; ++p) {
      if ((t & 1) == p && t < 63 && s[t] > s[t + 1]) {
        int x = s[t];
        s[t] = s[t + 1];
        s[t + 1] = x;
        changed = 1;
      }
      __syncthreads();
    }
  } while (changed);
  out[t] = s[t];
}
