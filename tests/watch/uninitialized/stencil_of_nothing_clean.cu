// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[66];
  int t = threadIdx.x;
  s[t + 1] = in[t];
  if (t < 2) s[t * 65] = 0;
  __syncthreads();
  float v = (s[t] + s[t + 2]) * 0.5f;
  __syncthreads();
  s[t + 1] = v;
  __syncthreads();
  out[t] = s[t + 1];
}
