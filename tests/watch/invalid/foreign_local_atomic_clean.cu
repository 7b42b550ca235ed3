// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int *total; __shared__ int sum;
  int t = threadIdx.x;
  if (t == 0) { total = &sum; sum = 0; }
  __syncthreads();
  int mine = in[t];
  atomicAdd(total, mine);
  __syncthreads();
  out[t] = sum;
}
