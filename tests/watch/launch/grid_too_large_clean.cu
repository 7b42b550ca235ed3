// launch: {"kernel": "k", "grid": [70000, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  if (blockIdx.x == 69999) out[threadIdx.x & 63] = in[threadIdx.x & 63];
}
