// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 4, "out"], ["float32", 4, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *part, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) part[blockIdx.x] = in[i];
  __syncthreads();
  if (threadIdx.x == 15) out[blockIdx.x] = part[blockIdx.x];
}
