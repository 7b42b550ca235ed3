// launch: {"kernel": "reversed", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 256], ["float32", 256, "out"]]}
extern "C" __global__ void reversed(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[63 - t] = in[255 - i];
  __syncthreads();
  out[i] = s[t ^ 5];
}
