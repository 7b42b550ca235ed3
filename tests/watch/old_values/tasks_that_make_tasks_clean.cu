// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["uint32", 64, "zero"], ["int32", 1, "zero"]]}
// expect: clean
#include <cuda/atomic>
__device__ unsigned head, tail = 1;
__device__ int open = 1;
template <class T> using ref = cuda::atomic_ref<T, cuda::thread_scope_device>;
extern "C" __global__ void k(int *task, unsigned *ready, int *leaves) {
  if (threadIdx.x) return;
  for (;;) {
    unsigned h = ref<unsigned>(head).load(cuda::memory_order_relaxed);
    if (h >= ref<unsigned>(tail).load(cuda::memory_order_relaxed)) {
      if (ref<int>(open).load(cuda::memory_order_relaxed) == 0) return;
      continue;
    }
    if (!ref<unsigned>(head).compare_exchange_strong(h, h + 1, cuda::memory_order_relaxed)) continue;
    while (h && !ref<unsigned>(ready[h]).load(cuda::memory_order_acquire)) {}
    int depth = h ? task[h] : 5;
    if (depth == 0) atomicAdd(leaves, 1);
    else {
      ref<int>(open).fetch_add(2, cuda::memory_order_relaxed);
      unsigned at = ref<unsigned>(tail).fetch_add(2, cuda::memory_order_relaxed);
      for (int i = 0; i < 2; ++i) {
        task[at + i] = depth - 1;
        ref<unsigned>(ready[at + i]).store(1, cuda::memory_order_release);
      }
    }
    ref<int>(open).fetch_sub(1, cuda::memory_order_relaxed);
  }
}
