// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 128, "zero"], ["int32", 128, "out"]]}
// expect: race error variable x
extern "C" __global__ void k(int *count, volatile int *sense, int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x;
  x[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) { if (atomicAdd(count, 1) == gridDim.x - 1) *sense = 1; else while (*sense != 1) {} }
  __syncthreads();
  y[i] = x[127 - i];
}
