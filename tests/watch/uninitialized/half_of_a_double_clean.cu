// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["float64", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, double *out) {
  __shared__ double s[64];
  int t = threadIdx.x;
  ((int *)&s[t])[1] = in[t] << 20;
  ((int *)&s[t])[0] = 0;
  __syncthreads();
  out[t] = s[63 - t];
}
