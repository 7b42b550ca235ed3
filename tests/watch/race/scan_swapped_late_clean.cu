// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float t[2 * 64];
  int i = threadIdx.x, a = 0, b = 1;
  t[i] = in[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    t[b * 64 + i] = t[a * 64 + i] + (i >= d ? t[a * 64 + i - d] : 0);
    a ^= 1; b ^= 1;
    __syncthreads();
  }
  out[i] = t[a * 64 + i];
}
