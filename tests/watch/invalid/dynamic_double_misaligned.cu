// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [33, 1, 1], "shared": 404, "args": [["float32", 33], ["float64", 33, "out"]]}
// expect: invalid-access error line 8
extern "C" __global__ void k(const float *in, double *out) {
  extern __shared__ char raw[];
  float *a = (float *)raw;
  double *b = (double *)(raw + 33 * sizeof(float));
  a[threadIdx.x] = in[threadIdx.x];
  b[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[32 - threadIdx.x] + b[32 - threadIdx.x];
}
