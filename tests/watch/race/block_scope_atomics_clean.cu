// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 32, "zero"]]}
// expect: clean
// Each block counts in eight bins of its own.
extern "C" __global__ void k(const int *in, int *bins) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x] & 7;
  atomicAdd_block(&bins[blockIdx.x * 8 + value], 1);
}
