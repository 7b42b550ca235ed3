// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: uninitialized-read error line 7 variable most
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float most[64];
  int t = threadIdx.x;
  float before =
    atomicExch(&most[t], in[t]);
  out[t] = fmaxf(before, in[t]);
}
