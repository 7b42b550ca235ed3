// launch: {"kernel": "misaligned", "grid": [4, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["float32", 400], ["float32", 400, "out"], 384]}
extern "C" __global__ void misaligned(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i + 3] = in[i + 1];
}
