// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  if (t < 32) {
    float x = s[t] + s[t + 32];
    for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xFFFFFFFFu, x, d);
    if (t == 0) out[0] = x;
  }
}
