// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 8
#include <thrust/complex.h>
extern "C" __global__ void k(const float *a, float *out) {
  float scale;
  if (a[threadIdx.x] > 1e9f)
    scale = 2;
  const thrust::complex<float> z = thrust::complex<float>(a[threadIdx.x], 1) * scale;
  out[threadIdx.x] = z.real() + z.imag();
}
