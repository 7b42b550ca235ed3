// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 8 variable s
// expect: race error line 8 variable s
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  int u = in[t];
  s[(t + 1) % 64] = s[t];
  __syncthreads();
  out[t] = s[t] + u;
}
