// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint8", 64], ["int32", 64, "out"]]}
// expect: race error line 7 hazard WAW variable s
extern "C" __global__ void k(const unsigned char *in, int *out) {
  __shared__ unsigned char s[64];
  int t = threadIdx.x;
  s[t / 2 * 2 % 64] = in[t] + t;
  s[(t + 32) % 64] = in[t] + 2 * t;
  __syncthreads();
  out[t] = s[t];
}
