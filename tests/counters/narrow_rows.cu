// launch: {"kernel": "narrow_rows", "grid": [3, 5, 1], "block": [8, 8, 1], "shared": 0, "args": [["float32", 800], ["float32", 800, "out"], 20, 40]}
extern "C" __global__ void narrow_rows(const float *in, float *out, int width, int height) {
  int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = 2 * in[y * width + (x + 1) % width];
}
