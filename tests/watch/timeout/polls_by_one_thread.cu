// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 64, "out"]]}
// expect: timeout error line 13
#include <cuda/atomic>
extern "C" __global__ void k(int *flag, int *out) {
  __shared__ int go;
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) f.store(0, cuda::memory_order_release);
    return;
  }
  do {
    __syncthreads();
    if (threadIdx.x == 0) go = f.load(cuda::memory_order_acquire);
    __syncthreads();
  } while (!go);
  out[threadIdx.x] = 1;
}
