// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 4, "out"], ["float32", 4, "out"]]}
// expect: race error line 7 hazard RAW variable part
extern "C" __global__ void k(const float *in, float *part, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) part[blockIdx.x] = in[i];
  __syncthreads();
  if (i == 63) out[0] = part[0] + part[1] + part[2] + part[3];
}
