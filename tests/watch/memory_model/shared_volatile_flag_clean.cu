// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ volatile int ready; __shared__ int v[32];
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) { v[threadIdx.x] = x[threadIdx.x]; __threadfence_block(); __syncwarp(); if (threadIdx.x == 0) ready = 1; }
  else { while (!ready) {} __threadfence_block(); y[threadIdx.x - 32] = v[63 - threadIdx.x]; }
}
