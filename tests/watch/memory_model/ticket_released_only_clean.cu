// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 256, "zero"], ["int32", 64, "zero"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(int *count, int *data, int *out) {
  __shared__ bool last; int t = threadIdx.x;
  data[blockIdx.x * 64 + t] = t;
  __syncthreads();
  if (t == 0) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ticket(*count);
    last = ticket.fetch_add(1, cuda::memory_order_acq_rel) == 3;
  }
  __syncthreads();
  if (last)
    for (int b = 0; b < 4; b++) out[t] += data[b * 64 + 63 - t];
}
