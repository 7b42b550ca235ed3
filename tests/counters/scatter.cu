// launch: {"kernel": "scatter", "grid": [2, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 1024, "zero"]]}
extern "C" __global__ void scatter(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i * 37 % 1024] = in[i];
}
