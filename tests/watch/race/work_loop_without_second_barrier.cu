// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
// expect: race error variable chunk line 8
// expect: barrier-divergence warning line 9
__device__ unsigned next;
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ unsigned chunk;
  for (;;) {
    if (threadIdx.x == 0) chunk = atomicAdd(&next, 1u);
    __syncthreads();
    if (chunk >= 4) return;
    out[chunk * 64 + threadIdx.x] = in[chunk * 64 + threadIdx.x] * 2;
  }
}
