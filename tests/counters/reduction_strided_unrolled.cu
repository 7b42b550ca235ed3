// launch: {"kernel": "reduction_strided_unrolled", "grid": [8, 1, 1], "block": [256, 1, 1], "shared": 1024, "args": [["float32", 2048], ["float32", 8, "out"]]}
extern __shared__ float s[];
extern "C" __global__ void reduction_strided_unrolled(const float *in, float *out) {
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 1; step < 256; step *= 2) {
    int at = 2 * step * t;
    if (at < 256) s[at] += s[at + step];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
