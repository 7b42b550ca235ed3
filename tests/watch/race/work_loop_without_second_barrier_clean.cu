// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: clean
__device__ unsigned next;
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ unsigned chunk;
  for (;;) {
    if (threadIdx.x == 0) chunk = atomicAdd(&next, 1u);
    __syncthreads();
    unsigned c = chunk;
    __syncthreads();
    if (c >= 4) return;
    out[c * 64 + threadIdx.x] = in[c * 64 + threadIdx.x] * 2;
  }
}
