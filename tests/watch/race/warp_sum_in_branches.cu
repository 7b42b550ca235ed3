// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: race error line 9 hazard RAW variable s
extern "C" __global__ void k(const float *x, float *y) {
  __shared__ float s[32];
  int t = threadIdx.x;
  s[t] = x[t];

  if (t < 16) {
    s[t] += s[t + 16];
  }
  __syncwarp();
  y[t] = s[t % 16];
}
