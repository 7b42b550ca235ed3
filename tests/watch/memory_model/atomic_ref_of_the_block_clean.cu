// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(int *data, int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_system> ready(*flag);
  if (blockIdx.x == 0) {
    data[0] = 7;
    ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {}
    out[0] = data[0];
  }
}
