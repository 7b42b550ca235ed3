// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error line 8 variable sum
#include <cuda/atomic>
extern "C" __global__ void k(int *lock, int *sum) {
  cuda::atomic_ref<int, cuda::thread_scope_device> l(*lock);
  if (threadIdx.x == 0) {
    while (l.exchange(1, cuda::memory_order_relaxed) != 0) {}
    *sum += 1;
    l.store(0, cuda::memory_order_relaxed);
  }
}
