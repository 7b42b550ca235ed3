// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 64, "out"]]}
// expect: clean
__device__ void load(float *s, const float *in, int at) {
  __syncthreads();
  s[threadIdx.x] = in[at + threadIdx.x];
  __syncthreads();
}
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  float sum = 0;
  for (int j = 0; j < 4; ++j) {
    load(s, in, j * 64);
    sum += s[63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
