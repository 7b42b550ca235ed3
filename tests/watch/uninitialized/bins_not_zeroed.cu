// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 5 variable bins
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int bins[8];
  atomicAdd(&bins[in[threadIdx.x] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}
