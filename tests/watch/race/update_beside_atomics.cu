// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 16, "out"]]}
// expect: race error variable bins
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int bins[16];
  int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  __syncthreads();
  atomicAdd(&bins[in[t] % 16], 1);
  bins[in[t] / 16 % 16] += 1;
  __syncthreads();
  if (t < 16) out[t] = bins[t];
}
