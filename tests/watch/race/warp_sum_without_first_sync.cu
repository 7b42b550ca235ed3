// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 1, "out"]]}
// expect: race error line 10 hazard WAR variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int i = threadIdx.x;
  s[i] = in[i];
  __syncwarp();
  for (int d = 16; d > 0; d >>= 1) {
    float x = s[(i + d) & 31];
    s[i] += x;
    __syncwarp();
  }
  if (i == 0) out[0] = s[0];
}
