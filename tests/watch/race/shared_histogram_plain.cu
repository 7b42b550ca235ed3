// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 8 variable bins
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int bins[8];
  int t = threadIdx.x;
  if (t < 8) bins[t] = 0;
  __syncthreads();
  bins[in[t] & 7] += 1;
  __syncthreads();
  if (t < 8) out[t] = bins[t];
}
