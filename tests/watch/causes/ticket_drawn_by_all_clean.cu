// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int *next) {
  __shared__ int tile;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  __syncthreads();
  out[tile * 32 + threadIdx.x] = 2 * in[tile * 32 + threadIdx.x];
}
