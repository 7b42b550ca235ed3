// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 4, "out"], ["float32", 1, "out"], ["uint32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *part, float *out, unsigned *ticket) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b) sum += part[b];
    out[0] = sum;
  }
}
