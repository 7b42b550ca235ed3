// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 256, "args": [["float32", 32], ["int32", 32], ["float32", 32, "out"]]}
// expect: race error line 9 hazard WAW variable raw
extern "C" __global__ void k(const float *a, const int *b, float *out) {
  extern __shared__ char raw[];
  float *value = (float *)raw;
  int *key = (int *)(raw + blockDim.x);
  int t = threadIdx.x;
  value[t] = a[t];
  key[t] = b[t] & 31;
  __syncthreads();
  out[t] = value[key[t]];
}
