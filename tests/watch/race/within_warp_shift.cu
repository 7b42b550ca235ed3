// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 10 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[33];
  int t = threadIdx.x;
  s[t] = in[t];
  if (t == 0) s[32] = 0;
  __syncwarp();
  float x = s[t + 1];
  s[t] = x;
  __syncwarp();
  out[t] = s[31 - t];
}
