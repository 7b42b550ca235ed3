// launch: {"kernel": "reduction_interleaved", "grid": [4, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["float32", 500], ["float32", 4, "out"], 500]}
extern "C" __global__ void reduction_interleaved(const float *in, float *out, int n) {
  __shared__ float s[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    if (t % (2 * step) == 0) s[t] += s[t + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
