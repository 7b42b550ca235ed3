// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 50], ["float32", 50, "out"], 50]}
// expect: uninitialized-read error line 9 variable tile
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float tile[16];
  int t = threadIdx.x, i = blockIdx.x * 16 + t;
  if (i < n) tile[t] = in[i];
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < 16; ++j) sum += tile[j];
  if (i < n) out[i] = sum;
}
