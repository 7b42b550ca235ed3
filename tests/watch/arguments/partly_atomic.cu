// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "inout", 8]]}
// expect: uninitialized-read error line 7 variable bins
extern "C" __global__ void k(const int *in, int *bins) {
  int t = threadIdx.x;
  if (t >= 16) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[in[t] % 16], 1);
}
