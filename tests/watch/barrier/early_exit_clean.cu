// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 40]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x;
  if (t < n) out[t] = in[t];
  __syncthreads();
}
