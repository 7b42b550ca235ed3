// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(int *flag, int *out) {
  __shared__ int go;
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) f.store(1, cuda::memory_order_release);
    return;
  }
  while (true) {
    if (threadIdx.x < 32) {
      if (threadIdx.x == 0) go = f.load(cuda::memory_order_acquire);
      __syncwarp();
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 64;" ::: "memory");
    }
    int now = *(volatile int *)&go;
    asm volatile("bar.sync 2, 64;" ::: "memory");
    if (now) break;
  }
  out[threadIdx.x] = 1;
}
