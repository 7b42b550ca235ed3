// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 8, "zero"]]}
// expect: invalid-access error line 4 variable bins
extern "C" __global__ void k(const int *in, int *bins) {
  atomicAdd(&bins[in[threadIdx.x]], 1);
}
