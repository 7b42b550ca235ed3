// launch: {"kernel": "every_third_lane", "grid": [2, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["float32", 192], ["float32", 192, "out"]]}
extern "C" __global__ void every_third_lane(const float *in, float *out) {
  int i = blockIdx.x * 96 + threadIdx.x;
  if (threadIdx.x % 3 == 0) out[i] = in[i] + in[(i * 7) % 192];
}
