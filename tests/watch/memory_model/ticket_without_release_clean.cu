// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["uint32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(int *data, unsigned *count, int *out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    if (threadIdx.x == 0) {
      int sum = 0;
      for (int b = 0; b < gridDim.x; ++b) sum += data[b];
      out[0] = sum;
    }
    if (threadIdx.x == 0) *count = 0;
  }
}
