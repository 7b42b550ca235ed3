// launch: {"kernel": "reduction_sequential", "grid": [2, 1, 1], "block": [256, 1, 1], "shared": 0, "args": [["float32", 500], ["float32", 2, "out"], 500]}
extern "C" __global__ void reduction_sequential(const float *in, float *out, int n) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
