// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 8 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  float sum = 0;
  for (int r = 0; r < 3; ++r) {
    s[t] = in[t] + r;
    __syncthreads();
    sum += s[63 - t];
  }
  out[t] = sum;
}
