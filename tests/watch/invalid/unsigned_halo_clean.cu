// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 64]}
// expect: clean
__constant__ float w[5] = {1, 2, 3, 2, 1};
extern "C" __global__ void k(const float *in, float *out, int n) {
  __shared__ float s[36];
  int g = blockIdx.x * 32 + threadIdx.x;
  for (int j = threadIdx.x; j < 36; j += 32) {
    int at = (int)(blockIdx.x * 32) + j - 2;
    s[j] = at < 0 || at >= n ? 0 : in[at];
  }
  __syncthreads();
  float v = 0;
  for (int j = 0; j < 5; ++j) v += w[j] * s[threadIdx.x + j];
  out[g] = v;
}
