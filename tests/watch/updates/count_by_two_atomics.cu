// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "out"]]}
// expect: lost-update error line 8 variable count
extern "C" __global__ void k(int *out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int seen = atomicAdd(&count, 0);
  atomicExch(&count, seen + 1);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = count;
}
