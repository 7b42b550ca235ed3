// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 128, "zero"], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(int *count, volatile int *sense, int *x, int *y) {
  int i = blockIdx.x * 32 + threadIdx.x, mine = 0;
  for (int r = 1; r < 4; r++) {
    x[i] = r * i;
    __syncthreads();
    if (threadIdx.x == 0) {
      mine = !mine;
      __threadfence();
      if (atomicAdd(count, 1) == gridDim.x - 1) { *count = 0; __threadfence(); *sense = mine; }
      else while (*sense != mine) {}
      __threadfence();
    }
    __syncthreads();
    y[i] = x[127 - i];
    __syncthreads();
    if (threadIdx.x == 0) {
      mine = !mine;
      __threadfence();
      if (atomicAdd(count, 1) == gridDim.x - 1) { *count = 0; __threadfence(); *sense = mine; }
      else while (*sense != mine) {}
      __threadfence();
    }
    __syncthreads();
  }
}
