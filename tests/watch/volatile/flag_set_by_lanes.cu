// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: lost-update error line 12 variable f
#include <cuda/atomic>
extern "C" __global__ void k(int *out) {
  __shared__ int f;
  int t = threadIdx.x;
  if (t == 0) f = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> r(f);
  int now = r.load(cuda::memory_order_relaxed);
  if (now != 77)
    r.store(now | 1 << t % 32, cuda::memory_order_relaxed);
  __syncthreads();
  out[t] = f;
}
