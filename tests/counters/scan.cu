// launch: {"kernel": "scan", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "out"]]}
extern "C" __global__ void scan(const float *in, float *out) {
  __shared__ float s[2][64];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, from = 0;
  s[0][t] = in[i];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    s[1 - from][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
    from = 1 - from;
    __syncthreads();
  }
  out[i] = s[from][t];
}
