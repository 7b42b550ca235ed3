// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 4], ["float32", 4, "out"], ["float32", 1, "out"]]}
// expect: race error line 15 hazard RAW variable last
// expect: barrier-divergence error
// The race explains reads before the first store.
// first: race line 15 hazard RAW variable last
__device__ unsigned count;
extern "C" __global__ void k(const float *in, float *part, float *out) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    part[blockIdx.x] = in[blockIdx.x];
    __threadfence();
    last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
  }
  if (last) {
    __threadfence();
    __shared__ float s[64];
    s[t] = t < gridDim.x ? __ldcg(&part[t]) : 0;
    __syncthreads();
    if (t == 0) out[0] = s[0] + s[1] + s[2] + s[3];
  }
}
