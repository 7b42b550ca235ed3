// launch: {"kernel": "g", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 4, "zero"], ["uint32", 1, "zero"], ["int32", 4, "out"]]}
// expect: clean
__device__ void sync_grid(volatile unsigned *arrived) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned nb = 1;
    if (blockIdx.x == 0) nb = 0x80000000u - (gridDim.x - 1);
    __threadfence();
    unsigned old = atomicAdd((unsigned *)arrived, nb);
    while ((((old ^ *arrived) & 0x80000000u) == 0)) {}
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void g(int *a, unsigned *arrived, int *y) {
  if (threadIdx.x == 0) a[blockIdx.x] = blockIdx.x;
  sync_grid(arrived);
  int s = 0;
  if (threadIdx.x == 40) for (int k = 0; k < 4; ++k) s += a[k];
  sync_grid(arrived);
  if (threadIdx.x == 40) y[blockIdx.x] = s;
}
