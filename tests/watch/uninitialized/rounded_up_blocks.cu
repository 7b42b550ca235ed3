// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 8
#include <cuda/cmath>
extern "C" __global__ void k(const float *a, float *out) {
  int n;
  if (a[0] > 1e9f)
    n = 100;
  out[threadIdx.x] = a[threadIdx.x] + cuda::ceil_div(n, 32);
}
