// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 9 variable t
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float t[2 * 64];
  int i = threadIdx.x, a = 0;
  t[i] = in[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    t[64 - a + i] = t[a + i] + (i >= d ? t[a + i - d] : 0);
    if (d != 8) a = 64 - a;
    __syncthreads();
    if (d == 8) t[a + i] = t[64 - a + i];
  }
  out[i] = t[a + i];
}
