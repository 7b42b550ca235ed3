// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: barrier-divergence error line 10
extern "C" __global__ void other(const int *in, int *out, int n) {
  if (threadIdx.x >= n) return;
  out[threadIdx.x] = in[threadIdx.x];
}
extern "C" __global__ void k(const int *in, int *out) {
  if (threadIdx.x < 64) {
    out[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
  }
}
