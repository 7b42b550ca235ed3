// launch: {"kernel": "rgb_to_grey", "grid": [3, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["uint8", 1100], ["uint8", 384, "out"], 360]}
extern "C" __global__ void rgb_to_grey(const uchar3 *pixel, unsigned char *grey, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) grey[i] = (pixel[i].x * 77 + pixel[i].y * 150 + pixel[i].z * 29) >> 8;
}
