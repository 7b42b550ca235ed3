// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: barrier-divergence error line 8
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int r = 0;; ++r) {
    s[t] = in[t] + r;
    __syncthreads();
    sum += s[63 - t];
    if (t < 32 ? r > 3 : r > 4) break;
    __syncthreads();
  }
  out[t] = sum;
}
