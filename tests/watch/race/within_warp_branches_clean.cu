// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t < 16) s[t] = in[t];
  __syncwarp();
  if (t >= 16) out[t] = s[t - 16];
  if (t < 16) out[t] = 0;
}
