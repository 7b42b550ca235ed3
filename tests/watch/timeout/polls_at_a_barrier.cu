// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 64, "out"]]}
// expect: timeout error line 8
#include <cuda/atomic>
extern "C" __global__ void k(int *flag, int *out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> f(flag[threadIdx.x]);
  if (blockIdx.x == 1 && threadIdx.x < 63) f.store(1, cuda::memory_order_release);
  if (blockIdx.x == 0) {
    while (!__syncthreads_and(f.load(cuda::memory_order_acquire))) {}
    out[threadIdx.x] = 1;
  }
}
