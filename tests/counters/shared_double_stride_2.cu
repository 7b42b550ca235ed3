// launch: {"kernel": "shared_double_stride_2", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 256], ["float64", 128, "out"]]}
extern "C" __global__ void shared_double_stride_2(const double *in, double *out) {
  __shared__ double s[128];
  int t = threadIdx.x;
  for (int i = t; i < 128; i += 64) s[i] = in[blockIdx.x * 128 + i];
  __syncthreads();
  out[blockIdx.x * 64 + t] = s[2 * t];
}
