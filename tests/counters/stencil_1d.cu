// launch: {"kernel": "stencil_1d", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 300], ["float32", 256, "out"]]}
extern "C" __global__ void stencil_1d(const float *in, float *out) {
  __shared__ float s[70];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 3] = in[i + 3];
  if (t < 3) {
    s[t] = in[i];
    s[t + 67] = in[i + 67];
  }
  __syncthreads();
  float sum = 0;
  for (int d = 0; d < 7; d++) sum += s[t + d];
  out[i] = sum / 8;
}
