// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ int n;
  if (threadIdx.x == 0) n = 0;
  __syncthreads();
  for (;;) {
    if (threadIdx.x == 0) ++n;
    __syncthreads();
    int seen = n;
    __syncthreads();
    if (seen > 3) return;
    out[threadIdx.x] = in[threadIdx.x] + seen;
  }
}
