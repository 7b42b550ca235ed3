// launch: {"kernel": "copy_32bit", "grid": [8, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 1000], ["float32", 1000, "out"], 1000]}
extern "C" __global__ void copy_32bit(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
