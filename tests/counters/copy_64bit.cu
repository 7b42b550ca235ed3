// launch: {"kernel": "copy_64bit", "grid": [8, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float64", 1000], ["float64", 1000, "out"], 1000]}
extern "C" __global__ void copy_64bit(const double *in, double *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
