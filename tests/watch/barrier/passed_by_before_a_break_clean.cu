// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int r = 0;; ++r) {
    s[t] = in[t] + r;
    __syncthreads();
    sum += s[63 - t];
    if (r > 4) break;
    __syncthreads();
  }
  out[t] = sum;
}
