// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 4, "zero"]]}
// expect: clean
#include <cuda/atomic>
using Word = cuda::atomic_ref<int, cuda::thread_scope_block>;
extern "C" __global__ void k(int *out) {
  __shared__ int words[2];
  if (threadIdx.x < 2) words[threadIdx.x] = 0;
  __syncthreads();
  Word data(words[0]), flag(words[1]);
  if (threadIdx.x == 0) {
    data.store(7, cuda::memory_order_relaxed);
    flag.store(1, cuda::memory_order_release);
  } else if (threadIdx.x == 32) {
    while (!flag.load(cuda::memory_order_acquire)) {}
    out[0] = data.load(cuda::memory_order_relaxed);
  }
}
