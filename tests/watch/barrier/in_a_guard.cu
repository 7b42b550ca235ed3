// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 50]}
// expect: barrier-divergence error
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = 0;
  if (t < n) {
    s[t] = in[t];
    __syncthreads();
    out[t] = s[n - 1 - t];
  }
  __syncthreads();
  if (t == 0) out[0] = s[63];
}
