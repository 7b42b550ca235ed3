// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const float *in, float *out) {
  int t = threadIdx.x;
  float x = in[t];
  if (t < 16) x = __shfl_down_sync(0xFFFFFFFFu, x, 1);
  __syncwarp();
  out[t] = x;
}
