// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 5 variable table
__device__ int table[8];
extern "C" __global__ void k(const int *in, int *out) {
  table[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = 0;
}
