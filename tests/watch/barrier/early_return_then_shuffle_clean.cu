// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  out[t] = __shfl_xor_sync(0x000FFFFFu, in[t], 1);
}
