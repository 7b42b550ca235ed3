// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error
// expect: race error line 14 hazard RAW variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  for (int i = 0; i < t / 32 + 1; ++i) {
    s[t] += i;
    __syncthreads();
  }
  s[t] += 1;
  __syncthreads();
  out[t] = s[63 - t];
}
