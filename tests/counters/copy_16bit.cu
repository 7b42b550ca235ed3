// launch: {"kernel": "copy_16bit", "grid": [8, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["uint16", 1000], ["uint16", 1000, "out"], 1000]}
extern "C" __global__ void copy_16bit(const unsigned short *in, unsigned short *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
