// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
#include <cuda/semaphore>
__device__ cuda::binary_semaphore<cuda::thread_scope_device> free_one(1);
extern "C" __global__ void k(int *total) {
  free_one.acquire();
  *total += 1;
  free_one.release();
}
