// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [33, 1, 1], "shared": 495, "args": [["float32", 33], ["float64", 33, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, double *out) {
  extern __shared__ char raw[];
  double *b = (double *)raw;
  float *a = (float *)(b + blockDim.x);
  short *c = (short *)(a + blockDim.x);
  unsigned char *d = (unsigned char *)(c + blockDim.x);
  int i = threadIdx.x;
  a[i] = in[i]; b[i] = in[i]; c[i] = i; d[i] = 32 - i;
  __syncthreads();
  int j = d[i];
  out[i] = a[j] + b[j] + c[j];
}
