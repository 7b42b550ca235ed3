// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 4, "zero"]]}
// expect: race error line 16 variable x
#include <cuda/atomic>
using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void k(int *x, int *out) {
  Word written(x[32]), taken(x[48]);
  int sum = 0;
  for (int n = 0; n < 8; n++) {
    Word slot(x[n & 3]);
    if (blockIdx.x == 0) {
      while (n - taken.load(cuda::memory_order_acquire) >= 4) {}
      slot.store(n + 1, cuda::memory_order_relaxed);
      written.store(n + 1, cuda::memory_order_relaxed);
    } else {
      while (written.load(cuda::memory_order_acquire) <= n) {}
      sum += slot.load(cuda::memory_order_relaxed);
      taken.store(n + 1, cuda::memory_order_release);
    }
  }
  if (blockIdx.x == 1) out[0] = sum;
}
