// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "zero"], ["int32", 1, "zero"]]}
// expect: race error line 16 variable next
#include <cuda/atomic>
using Ref = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void k(int *top, int *next, int *sum) {
  if (blockIdx.x == 0) {
    for (int n = 1; n < 4; n++) {
      int was = Ref(*top).load(cuda::memory_order_relaxed);
      do { Ref(next[n]).store(was, cuda::memory_order_relaxed); }
      while (!Ref(*top).compare_exchange_weak(was, n, cuda::memory_order_release, cuda::memory_order_relaxed));
    }
  } else {
    for (int k = 0; k < 3; k++) {
      int first = Ref(*top).load(cuda::memory_order_relaxed);
      while (!first || !Ref(*top).compare_exchange_weak(
                           first, Ref(next[first]).load(cuda::memory_order_relaxed),
                           cuda::memory_order_acquire, cuda::memory_order_acquire))
        if (!first) first = Ref(*top).load(cuda::memory_order_acquire);
      *sum += first;
    }
  }
}
