// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [1, 1, 65], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: launch-failure error
extern "C" __global__ void k(const float *in, float *out) {
  out[threadIdx.x & 63] = in[0];
}
