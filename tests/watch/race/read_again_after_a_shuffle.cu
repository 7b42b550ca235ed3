// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: race error line 7
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64]; int t = threadIdx.x; s[t] = in[t];
  __syncthreads();
  int a = s[(t + 1) & 63]; a += __shfl_xor_sync(~0u, a, 1); a += s[(t + 1) & 63];
  s[t] = a;
  __syncthreads();
  out[t] = s[t];
}
