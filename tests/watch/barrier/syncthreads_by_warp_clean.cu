// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *out) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  if (gridDim.x == 2)
    __syncthreads();
  else
    { s[t] += 1; __syncthreads(); }
  out[t] = s[63 - t];
}
