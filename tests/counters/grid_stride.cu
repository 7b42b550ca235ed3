// launch: {"kernel": "grid_stride", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 1000], ["float32", 1000, "out"], 1000, 3]}
extern "C" __global__ void grid_stride(const float *in, float *out, int n, int factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = (float)factor * in[i];
}
