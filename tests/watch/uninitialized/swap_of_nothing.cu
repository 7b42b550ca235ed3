// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 7 variable s
// expect: race error line 8 variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  if (t < 63) { float a = s[t], b = s[t + 1];
    if (a >= b) { s[t] = b; s[t + 1] = a; }
  }
  __syncthreads();
  out[t] = s[t] + in[t];
}
