// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 4, "zero"]]}
// expect: clean
#include <cuda/atomic>
using Word = cuda::atomic_ref<int, cuda::thread_scope_device>;
__device__ int flag[64], turn, count;
extern "C" __global__ void k(int *out) {
  int me = blockIdx.x, other = 1 - me;
  Word mine(flag[32 * me]), others(flag[32 * other]), last(turn);
  for (int n = 0; n < 3; n++) {
    mine.store(1, cuda::memory_order_seq_cst);
    last.store(other, cuda::memory_order_seq_cst);
    while (others.load(cuda::memory_order_seq_cst) && last.load(cuda::memory_order_seq_cst) == other) {}
    count++;
    mine.store(0, cuda::memory_order_release);
  }
  out[me] = me;
}
