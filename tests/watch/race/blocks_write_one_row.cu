// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 4 hazard WAW variable out
extern "C" __global__ void k(const float *in, float *out) {
  out[threadIdx.x] = in[threadIdx.x] + blockIdx.x;
}
