// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error line 8
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[32];
  int t = threadIdx.x;
  if (t < 16) {
    s[t] = in[t];
    __syncwarp();
    __syncwarp(0x0000FFFFu);
  } else {
    s[t] = in[t];
    __syncwarp(0xFFFF0000u);
  }
  __syncthreads();
  out[t] = s[31 - t];
}
