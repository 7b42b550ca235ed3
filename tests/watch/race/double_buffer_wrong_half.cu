// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 11 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2][64];
  int t = threadIdx.x;
  float sum = 0;
  s[0][t] = s[1][t] = in[t];
  __syncthreads();
  for (int r = 0; r < 4; ++r) {
    sum += s[r & 1][63 - t];
    s[r & 1][t] = in[t] + r;
    __syncthreads();
  }
  out[t] = sum;
}
