// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 4, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  int x = threadIdx.x, y = threadIdx.y;
  out[y * 8 + x] = in[y * 8 + x];
}
