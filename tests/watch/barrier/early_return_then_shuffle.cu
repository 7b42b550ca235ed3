// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 20]}
// expect: barrier-divergence error line 9
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x;
  float x = in[t];
  if (t >= n) {
    __syncwarp(0xFFF00000u);
    out[t] = 0;
    __syncwarp();
    return;
  }
  out[t] = __shfl_xor_sync(0xFFFFFFFFu, x, 1);
}
