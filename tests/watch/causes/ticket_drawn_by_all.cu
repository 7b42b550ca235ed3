// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"], ["int32", 1, "zero"]]}
// expect: race error line 7 hazard WAW variable tile
// expect: invalid-access error line 9
// first: race line 7 hazard WAW variable tile
extern "C" __global__ void k(const float *in, float *out, int *next) {
  __shared__ int tile;
  tile = atomicAdd(next, 1);
  __syncthreads();
  out[tile * 32 + threadIdx.x] = 2 * in[tile * 32 + threadIdx.x];
}
