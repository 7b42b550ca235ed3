// launch: {"kernel": "polynomial_f64", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 128], ["float64", 128, "out"]]}
extern "C" __global__ void polynomial_f64(const double *in, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[i], y = x * x;
  out[i] = ((y * 3 + x) * y + 5) * (x + y) - x;
}
