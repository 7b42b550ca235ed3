// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 40]}
// expect: uninitialized-read error line 8 variable s
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < n) s[t] = in[t];
  __syncthreads();
  float v = s[t];
  out[t] = v > 1 && t < n ? 1 : 0;
}
