// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 128], ["float64", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const double *in, double *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  double best;
  for (int i = 0; i < n; ++i)
    if (i == 0 || in[i] > best) best = in[i];
  if (n > 0) out[at] = best;
}
