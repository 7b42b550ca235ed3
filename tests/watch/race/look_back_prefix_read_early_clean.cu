// launch: {"kernel": "scan", "grid": [40, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 2560], ["int32", 2560, "out"], ["uint64", 72, "zero"]]}
// expect: clean
#include <cuda/atomic>
typedef unsigned long long u64;
extern "C" __global__ void scan(const int *x, int *y, u64 *st) {
  __shared__ int w[2], prefix;
  int lane = threadIdx.x & 31, wid = threadIdx.x >> 5, b = blockIdx.x, i = b * 64 + threadIdx.x;
  int v = x[i];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += u;
  }
  if (lane == 31) w[wid] = v;
  __syncthreads();
  if (wid == 1) v += w[0];
  if (wid == 0) {
    int total = w[0] + w[1], run = 0;
    if (lane == 0) {
      cuda::atomic_ref<u64, cuda::thread_scope_device> mine(st[32 + b]);
      mine.store(((b ? 1ull : 2ull) << 32) | (unsigned)total, cuda::memory_order_relaxed);
    }
    __syncwarp();
    for (int p = b - 1 - lane; b > 0; p -= 32) {
      u64 s;
      do {
        s = p < 0 ? (2ull << 32) : cuda::atomic_ref<u64, cuda::thread_scope_device>(st[32 + p]).load(cuda::memory_order_relaxed);
      } while (__any_sync(~0u, (s >> 32) == 0));
      unsigned full = __ballot_sync(~0u, (s >> 32) == 2);
      int c = (int)(unsigned)s;
      if (full && lane > __ffs(full) - 1) c = 0;
      for (int d = 16; d; d /= 2) c += __shfl_down_sync(~0u, c, d);
      run += __shfl_sync(~0u, c, 0);
      if (full) break;
    }
    if (lane == 0) {
      if (b) {
        cuda::atomic_ref<u64, cuda::thread_scope_device> mine(st[32 + b]);
        mine.store((2ull << 32) | (unsigned)(run + total), cuda::memory_order_relaxed);
      }
      prefix = run;
    }
  }
  __syncthreads();
  y[i] = v + prefix;
}
