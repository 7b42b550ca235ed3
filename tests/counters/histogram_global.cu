// launch: {"kernel": "histogram_global", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint8", 500], ["uint32", 128, "zero"], 500]}
extern "C" __global__ void histogram_global(const unsigned char *in, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[in[i]], 1);
}
