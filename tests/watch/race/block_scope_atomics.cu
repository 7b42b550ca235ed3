// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 8, "zero"]]}
// expect: race error line 4 variable bins
extern "C" __global__ void k(const int *in, int *bins) {
  atomicAdd_block(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] & 7], 1);
}
