// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ int *box;
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, sum = in[t];
  if (t == 0) box = &sum;
  __syncthreads();
  if (t == 0) *box = 5;
  __syncthreads();
  out[t] = sum;
}
