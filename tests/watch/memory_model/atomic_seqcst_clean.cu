// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 1, "out"]]}
// expect: clean
#include <cuda/atomic>
extern "C" __global__ void k(int *f, int *d, int *out) {
  cuda::atomic_ref<int> flag(*f);
  if (blockIdx.x == 0) { *d = 5; flag = 1; } else { while (flag == 0) {} *out = *d; }
}
