// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 4, "zero"]]}
// expect: race error line 12 variable x
#include <cuda/atomic>
using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
extern "C" __global__ void k(int *x, int *out) {
  Word data(x[0]), flag(x[32]);
  if (blockIdx.x == 0) {
    data.store(42, cuda::memory_order_relaxed);
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_relaxed) == 0) {}
    out[0] = data.load(cuda::memory_order_relaxed);
  }
}
