// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 7 variable out
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  if (t < 60) out[t] = in[t];
  __syncthreads();
  float x = out[63 - t];
  __syncthreads();
  out[t] = x;
}
