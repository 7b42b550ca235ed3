// launch: {"kernel": "stencil_3d", "grid": [1, 2, 6], "block": [16, 4, 1], "shared": 0, "args": [["float32", 1024], ["float32", 1024, "out"]]}
extern "C" __global__ void stencil_3d(const float *in, float *out) {
  int x = threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z + 1, at = (z * 8 + y) * 16 + x;
  if (x == 0 || x == 15 || y == 0 || y == 7) return;
  out[at] = in[at - 1] + in[at + 1] + in[at - 16] + in[at + 16] + in[at - 128] + in[at + 128] - 6 * in[at];
}
