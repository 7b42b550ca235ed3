// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: barrier-divergence error line 10
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  float sum = 0;
  for (int j = threadIdx.x; j < 100; j += 64) {
    s[threadIdx.x] = in[j % 64];
    __syncthreads();
    sum += s[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
