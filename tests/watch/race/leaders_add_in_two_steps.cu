// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 2, "out"]]}
// expect: race error line 10 hazard WAW variable count
extern "C" __global__ void k(int *g) {
  __shared__ int count[2];
  if (threadIdx.x < 2) count[threadIdx.x] = 0;
  __syncthreads();
  int k = threadIdx.x % 2;
  unsigned same = __match_any_sync(~0u, k);
  if (threadIdx.x % 32 == __ffs(same) - 1) {
    int c = count[k]; c += __popc(same); count[k] = c;
  }
  __syncthreads();
  if (threadIdx.x < 2) g[threadIdx.x] = count[threadIdx.x];
}
