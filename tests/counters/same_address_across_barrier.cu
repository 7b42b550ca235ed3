// launch: {"kernel": "same_address_across_barrier", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"]]}
extern "C" __global__ void same_address_across_barrier(const float *in, float *out) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  float v = s[63 - t] + s[0];
  __syncthreads();
  s[t] = v;
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[63 - t] + s[0] + s[63 - t];
}
