// launch: {"kernel": "shared_64bit", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 128], ["float64", 128, "out"], 17]}
extern "C" __global__ void shared_64bit(const double *in, double *out, int step) {
  __shared__ double s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = in[i];
  __syncthreads();
  out[i] = s[(t * step) % 64];
}
