// launch: {"kernel": "strided_index_step_32", "grid": [8, 1, 1], "block": [256, 1, 1], "shared": 0, "args": [["float32", 2048], ["float32", 2048, "out"], 32]}
extern "C" __global__ void strided_index_step_32(const float *in, float *out, int step) {
  __shared__ float s[256];
  int t = threadIdx.x, at = 2 * step * t;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  if (at < 256) s[at] += s[at + step];
  __syncthreads();
  out[blockIdx.x * 256 + t] = s[t];
}
