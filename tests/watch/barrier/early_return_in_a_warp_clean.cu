// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x;
  float x = __shfl_xor_sync(0xFFFFFFFFu, in[t], 1);
  if (t < n) out[t] = x;
}
