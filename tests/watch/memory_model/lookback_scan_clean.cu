// launch: {"kernel": "k", "grid": [5, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 160], ["int32", 160, "out"], ["int32", 5, "zero"], ["int32", 5, "zero"], ["int32", 5, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y, int *agg, int *inc, int *state, int *next) {
  __shared__ int tile, before;
  if (threadIdx.x == 0) tile = atomicAdd(next, 1);
  __syncthreads();
  int b = tile, i = b * 32 + threadIdx.x, v = x[i];
  for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, v, d); if (threadIdx.x >= d) v += o; }
  if (threadIdx.x == 31) {
    agg[b] = v; __threadfence(); atomicExch(&state[b], 1);
    int sum = 0;
    for (int p = b - 1; p >= 0; --p) {
      int s;
      while ((s = atomicAdd(&state[p], 0)) == 0) {}
      __threadfence();
      if (s == 2) { sum += inc[p]; break; }
      sum += agg[p];
    }
    inc[b] = sum + v; __threadfence(); atomicExch(&state[b], 2);
    before = sum;
  }
  __syncthreads();
  y[i] = v + before;
}
