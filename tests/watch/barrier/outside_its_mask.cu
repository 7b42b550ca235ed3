// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error line 4
extern "C" __global__ void k(const float *in, float *out) {
  if (threadIdx.x < 16) __syncwarp(0xFFFF0000u);
  out[threadIdx.x] = in[threadIdx.x];
}
