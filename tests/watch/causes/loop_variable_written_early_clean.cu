// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 384], ["float32", 384, "out"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int *next) {
  __shared__ int job;
  while (true) {
    if (threadIdx.x == 0) job = atomicAdd(next, 1);
    __syncthreads();
    if (job >= 6) break;
    out[job * 64 + threadIdx.x] = in[job * 64 + threadIdx.x];
    __syncthreads();
  }
}
