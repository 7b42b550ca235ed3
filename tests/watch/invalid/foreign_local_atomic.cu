// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: invalid-access error line 9
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int *total;
  int t = threadIdx.x, sum = 0;
  if (t == 0) total = &sum;
  __syncthreads();
  int mine = in[t];
  *total += mine;
  __syncthreads();
  out[t] = sum;
}
