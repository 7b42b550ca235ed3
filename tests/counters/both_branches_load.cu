// launch: {"kernel": "both_branches_load", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128], ["float32", 128, "out"]]}
extern "C" __global__ void both_branches_load(const float *a, const float *b, float *out) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float v;
  if (threadIdx.x & 4) { v = a[i]; __syncwarp(0xf0f0f0f0); v += a[i ^ 1]; }
  else { v = b[i]; __syncwarp(0x0f0f0f0f); v -= b[i ^ 2]; }
  out[i] = v;
}
