// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int data;
  __shared__ cuda::atomic<int, cuda::thread_scope_block> flag;
  int t = threadIdx.x;
  if (t == 0) flag.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  if (t == 0) {
    data = in[0];
    asm volatile("fence.proxy.async; fence.acq_rel.cta;" : : : "memory");
    flag.store(1, cuda::memory_order_relaxed);
  }
  if (t == 40) {
    while (!flag.load(cuda::memory_order_relaxed)) {}
    asm volatile("fence.proxy.async; fence.acq_rel.cta;" : : : "memory");
    out[0] = data;
  }
}
