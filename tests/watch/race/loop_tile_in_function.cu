// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 64, "out"]]}
// expect: race error line 4 hazard WAR variable s
__device__ void load(float *s, const float *in, int at) {
  s[threadIdx.x] = in[at + threadIdx.x];
}
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[64];
  float sum = 0;
  for (int j = 0; j < 4; ++j) {
    load(s, in, j * 64);
    __syncthreads();
    sum += s[63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
