// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t < 16) {
    s[t] = in[t];
    __syncwarp();
    out[t] = s[31 - t];
  } else {
    s[t] = in[t] + 1;
    __syncwarp();
    out[t] = 2 * s[31 - t];
  }
}
