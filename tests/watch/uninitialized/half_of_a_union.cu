// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float64", 64, "out"]]}
// expect: uninitialized-read error line 8 variable u
union Word { float f[2]; double d; };
extern "C" __global__ void k(const float *in, double *out) {
  int t = threadIdx.x;
  Word u;
  u.f[0] = in[t];
  out[t] = u.d;
}
