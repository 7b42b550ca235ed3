// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/atomic>
using counter = cuda::atomic<unsigned, cuda::thread_scope_block>;
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ counter head, tail;
  __shared__ int ring[4];
  int t = threadIdx.x;
  if (t == 0) { head.store(0); tail.store(0); }
  __syncthreads();
  if (t == 0) {
    for (unsigned i = 0; i < 16; i++) {
      while (i - tail.load(cuda::memory_order_acquire) >= 4) {}
      ring[i % 4] = x[i];
      head.store(i + 1, cuda::memory_order_release);
    }
  } else if (t == 32) {
    for (unsigned i = 0; i < 16; i++) {
      while (head.load(cuda::memory_order_acquire) <= i) {}
      y[i] = ring[i % 4];
      tail.store(i + 1, cuda::memory_order_release);
    }
  }
}
