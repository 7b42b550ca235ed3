// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 8, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *bins) {
  atomicAdd(&bins[in[blockIdx.x * blockDim.x + threadIdx.x] & 7], 1);
}
