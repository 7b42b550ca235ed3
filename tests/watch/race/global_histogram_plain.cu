// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 8, "zero"]]}
// expect: race error line 4 variable bins
extern "C" __global__ void k(const int *in, int *bins) {
  bins[in[blockIdx.x * blockDim.x + threadIdx.x] & 7]++;
}
