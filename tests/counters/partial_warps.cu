// launch: {"kernel": "partial_warps", "grid": [5, 1, 1], "block": [50, 1, 1], "shared": 0, "args": [["float32", 250], ["float32", 250, "out"]]}
extern "C" __global__ void partial_warps(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[249 - i] * 2 + 1;
}
