// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 50], ["float32", 50, "out"], 50]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float tile[16];
  int t = threadIdx.x, i = blockIdx.x * 16 + t;
  tile[t] = i < n ? in[i] : 0;
  __syncthreads();
  float sum = 0;
  for (int j = 0; j < 16; ++j) sum += tile[j];
  if (i < n) out[i] = sum;
}
