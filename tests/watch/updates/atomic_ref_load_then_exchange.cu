// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: lost-update error line 7 variable n
#include <cuda/atomic>
extern "C" __global__ void k(int *n) {
  if (threadIdx.x) return;
  cuda::atomic_ref<int, cuda::thread_scope_device> count(*n);
  count.exchange(count.load() + 2);
}
