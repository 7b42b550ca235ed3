// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 512, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  extern __shared__ float pool[];
  float *a = pool, *b = pool + 64;
  int t = threadIdx.x;
  a[t] = in[t];
  b[t] = in[t] + t;
  __syncthreads();
  out[t] = a[63 - t] + b[63 - t];
}
