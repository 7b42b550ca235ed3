// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void __launch_bounds__(64) k(const float *in, float *out) {
  out[threadIdx.x] = in[threadIdx.x];
}
