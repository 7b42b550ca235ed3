// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int slot[64];
  int t = threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_block> mine(slot[t]);
  (void)mine.exchange(in[t], cuda::memory_order_relaxed);
  out[t] = mine.exchange(0, cuda::memory_order_acq_rel) < 7;
}
