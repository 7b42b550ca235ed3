// launch: {"kernel": "polynomial_f32", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"]]}
extern "C" __global__ void polynomial_f32(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = in[i], y = x * x;
  out[i] = ((y * 3 + x) * y + 5) * (x + y) - x;
}
