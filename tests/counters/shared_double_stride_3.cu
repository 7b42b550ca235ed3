// launch: {"kernel": "shared_double_stride_3", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 384], ["float64", 128, "out"]]}
extern "C" __global__ void shared_double_stride_3(const double *in, double *out) {
  __shared__ double s[192];
  int t = threadIdx.x;
  for (int i = t; i < 192; i += 64) s[i] = in[blockIdx.x * 192 + i];
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[3 * t];
}
