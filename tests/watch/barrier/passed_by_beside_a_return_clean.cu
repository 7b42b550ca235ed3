// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
__device__ void wait() { __syncthreads(); }
extern "C" __global__ void k(const int *in, int *out) {
  if (threadIdx.x >= 64) return;
  out[threadIdx.x] = in[threadIdx.x];
  wait();
}
extern "C" __global__ void other(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x]; }
