// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout", 32]]}
// expect: uninitialized-read error line 5 variable acc
extern "C" __global__ void k(const float *in, float *acc) {
  int t = threadIdx.x;
  acc[t] += in[t];
}
