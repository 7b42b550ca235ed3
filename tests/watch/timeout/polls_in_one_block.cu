// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 64, "out"]]}
// expect: timeout error line 11
extern "C" __global__ void k(int *flag, int *out) {
  __shared__ int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 32) atomicExch(&ready, 0);
  int seen;
  do {
    seen = threadIdx.x == 0 && atomicAdd(&ready, 0);
  } while (!__syncthreads_or(seen));
  out[threadIdx.x] = flag[0] + 1;
}
