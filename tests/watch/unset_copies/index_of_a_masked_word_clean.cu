// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(int *out) {
  __shared__ unsigned s[32];
  __shared__ unsigned char c[32];
  int t = threadIdx.x;
  c[t] = t;
  s[t] = 3 * t;
  __syncthreads();
  out[t] = c[s[31 - t] & 15];
}
