// launch: {"kernel": "sum", "grid": [5, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 320], ["int32", 5, "zero"], ["uint32", 1, "zero"], ["int32", 1, "out"]]}
// expect: race error line 20 hazard RAW variable part
#include <cuda/atomic>
extern "C" __global__ void sum(const int *x, int *part, unsigned *count, int *y) {
  __shared__ int s[64];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 64 + t];
  for (int d = 32; d; d >>= 1) {
    __syncthreads();
    if (t < d) s[t] += s[t + d];
  }
  if (t == 0) {
    part[blockIdx.x] = s[0];
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> c(*count);
      last = c.fetch_add(1, cuda::memory_order_acquire) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < 32) {
    int v = t < gridDim.x ? part[t] : 0;
    v = __reduce_add_sync(~0u, v);
    if (t == 0) { *y = v; *count = 0; }
  }
}
