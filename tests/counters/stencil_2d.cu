// launch: {"kernel": "stencil_2d", "grid": [3, 5, 1], "block": [16, 8, 1], "shared": 0, "args": [["float32", 1665], ["float32", 1665, "zero"], 45, 37]}
extern "C" __global__ void stencil_2d(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]);
}
