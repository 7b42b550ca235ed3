// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  float sum = 0;
  for (int r = 0; r < 2; ++r) {
    int j = threadIdx.x + r * 64;
    s[threadIdx.x] = j < 100 ? in[j % 64] : 0;
    __syncthreads();
    sum += s[threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}
