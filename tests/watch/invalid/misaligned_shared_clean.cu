// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ __align__(4) char s[256];
  int t = threadIdx.x;
  for (int i = 0; i < 4; ++i) s[4 * t + i] = in[t];
  __syncthreads();
  out[t] = *(int *)(s + 4 * (t / 2));
}
