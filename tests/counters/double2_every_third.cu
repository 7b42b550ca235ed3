// launch: {"kernel": "double2_every_third", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 768], ["float64", 256, "out"]]}
extern "C" __global__ void double2_every_third(const double2 *in, double2 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double2 v = in[3 * i];
  out[i] = make_double2(v.y + v.x, v.x * v.y);
}
