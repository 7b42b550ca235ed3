// launch: {"kernel": "copy_8bit", "grid": [8, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["uint8", 1000], ["uint8", 1000, "out"], 1000]}
extern "C" __global__ void copy_8bit(const unsigned char *in, unsigned char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
