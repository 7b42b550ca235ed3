// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
#include <cassert>
extern "C" __global__ void k(const float *in, float *out) {
  assert(in[threadIdx.x] < 1e30f);
  out[threadIdx.x] = in[threadIdx.x];
}
