// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ int table[64];
extern "C" __global__ void k(const int *in, int *out) {
  table[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = 0;
}
