// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 8 variable s
// expect: race error line 8 variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  float mine = in[t];
  for (int half = 32; half > 0; half /= 2) if (t < half) s[t] += s[t + half];
  __syncthreads();
  out[t] = mine * s[0];
}
