// launch: {"kernel": "reduction_strided_index", "grid": [8, 1, 1], "block": [256, 1, 1], "shared": 0, "args": [["float32", 2048], ["float32", 8, "out"]]}
extern "C" __global__ void reduction_strided_index(const float *in, float *out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    int at = 2 * step * t;
    if (at < blockDim.x) s[at] += s[at + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
