// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [4, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 6
extern "C" __global__ void k(const float *in, float *out) {
  float *p = (float *)malloc(8);
  p[0] = in[threadIdx.x];
  out[threadIdx.x] = p[1];
  free(p);
}
