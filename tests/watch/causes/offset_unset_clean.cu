// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int n, found[64];
  int total = 0;
  for (int c = 0; c < 4; c++) {
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    int v = in[c * 64 + threadIdx.x];
    if (v > 40) found[atomicAdd(&n, 1)] = v;
    __syncthreads();
    int m = n;
    if (threadIdx.x < m) out[total + threadIdx.x] = found[threadIdx.x];
    total += m;
    __syncthreads();
  }
}
