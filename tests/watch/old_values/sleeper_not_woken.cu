// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 4, "zero"]]}
// expect: race error line 13 variable words
#include <cuda/atomic>
using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
__device__ int words[128];
extern "C" __global__ void k(int *out) {
  Word ready(words[0]), asleep(words[32]), wake(words[64]);
  if (blockIdx.x == 0) {
    ready.store(1, cuda::memory_order_relaxed);
    if (asleep.load(cuda::memory_order_relaxed)) wake.store(1, cuda::memory_order_relaxed);
  } else {
    asleep.store(1, cuda::memory_order_relaxed);
    if (!ready.load(cuda::memory_order_relaxed))
      while (!wake.load(cuda::memory_order_relaxed)) {}
    out[0] = 1;
  }
}
