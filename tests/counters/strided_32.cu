// launch: {"kernel": "strided_32", "grid": [2, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 8192], ["float32", 256, "out"], 32]}
extern "C" __global__ void strided_32(const float *in, float *out, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride];
}
