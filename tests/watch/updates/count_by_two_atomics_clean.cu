// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "out"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(int *out, int *order) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int seen = atomicAdd(&count, 1);
  order[threadIdx.x] = 0 * seen;
  __syncthreads();
  if (threadIdx.x == 0) {
    out[0] = atomicAdd(&count, 0);
    atomicExch(&count, out[0] + 1);
  }
}
