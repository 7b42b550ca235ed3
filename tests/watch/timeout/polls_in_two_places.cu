// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 64, "out"]]}
// expect: timeout error line 14
#include <cuda/atomic>
extern "C" __global__ void k(int *flag, int *out) {
  __shared__ int go[2];
  cuda::atomic_ref<int, cuda::thread_scope_device> f(*flag);
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0) f.store(0, cuda::memory_order_release);
    return;
  }
  for (int k = 0;; k ^= 1) {
    if (threadIdx.x == 0) go[k] = 2 * k + f.load(cuda::memory_order_acquire);
    __syncthreads();
    if (go[k] & 1) break;
    if (threadIdx.x == 0) go[k ^ 1] = 4;
    __syncthreads();
  }
  out[threadIdx.x] = 1;
}
