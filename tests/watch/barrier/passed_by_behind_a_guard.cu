// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["int32", 192], ["int32", 2, "out"]]}
// expect: barrier-divergence error line 6
extern "C" __global__ void k(const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, found = 0;
  if (i >= 192) return;
  if (threadIdx.x < 64) found = __syncthreads_count(x[i] > 0);
  if (threadIdx.x == 0) y[blockIdx.x] = found;
}
