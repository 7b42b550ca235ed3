// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["float64", 64, "out"]]}
// expect: uninitialized-read error line 9 variable s
extern "C" __global__ void k(const int *in, double *out) {
  __shared__ double s[64];
  int t = threadIdx.x;
  // only the upper word of each number
  ((int *)&s[t])[1] = in[t] << 20;
  __syncthreads();
  out[t] = s[63 - t];
}
