// launch: {"kernel": "k", "grid": [1, 0, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: launch-failure error
extern "C" __global__ void k(const float *in, float *out) {
  out[threadIdx.x] = in[threadIdx.x];
}
