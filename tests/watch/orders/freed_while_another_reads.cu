// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: invalid-access error
extern "C" __global__ void k(int *out) {
  __shared__ int *list;
  if (threadIdx.x == 0) { list = (int *)malloc(256); for (int j = 0; j < 64; ++j) list[j] = j; }
  __syncthreads();
  out[threadIdx.x] = list[threadIdx.x];
  if (threadIdx.x == 63) free(list);
}
