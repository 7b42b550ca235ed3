// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 32, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(unsigned *out) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> r(out[threadIdx.x]);
  r.fetch_and(0);
}
