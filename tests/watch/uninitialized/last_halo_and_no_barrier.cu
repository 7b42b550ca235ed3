// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 6 variable s
// expect: uninitialized-read error line 6 variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[65]; int t = threadIdx.x; s[t] = in[t];
  out[t] = s[t + 1] - in[t];
}
