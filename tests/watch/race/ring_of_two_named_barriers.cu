// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 9 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  float sum = 0;
  for (int r = 0; r < 3; ++r) {
    if (t < 32) {
      s[t] = in[t] + r;
      asm volatile("bar.sync 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
      sum += s[t - 32];
    }
  }
  out[t] = sum;
}
