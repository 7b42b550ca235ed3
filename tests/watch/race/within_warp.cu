// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 1, "out"]]}
// expect: race error line 11 hazard RAW variable s
// expect: race error line 11 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ volatile float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    s[t] += s[t + 32];
    s[t] += s[t + 16];
  }
  __syncthreads();
  if (t == 0) out[0] = s[0];
}
