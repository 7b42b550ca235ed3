// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: invalid-access error line 9 variable a
// expect: uninitialized-read error variable a
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float a[64];
  __shared__ float b[64];
  int t = threadIdx.x;
  b[t] = in[t];
  a[t + 1] = in[t];
  __syncthreads();
  out[t] = a[t] + b[t];
}
