// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 8
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int i = t; i < 100; i += 64) {
    s[t] = in[i];
    __syncthreads();
    sum += s[t];
  }
  out[t] = sum;
}
