// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 192], ["int32", 2, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
  if (i >= 192) return;
  found = __syncthreads_count(threadIdx.x < 64 && x[i] > 0);
  if (threadIdx.x == 0) y[blockIdx.x] = found;
}
