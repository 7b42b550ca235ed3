// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  if (t < 16) x = __shfl_down_sync(0x0000FFFFu, x, 1, 16);
  __syncwarp();
  out[t] = x;
}
