// launch: {"kernel": "g", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 4, "zero"], ["uint32", 1, "zero"], ["uint32", 1, "zero"], ["int32", 4, "out"]]}
// expect: clean
__device__ void barrier(unsigned *count, volatile unsigned *sense) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned s = *sense;
    __threadfence();
    if (atomicAdd(count, 1) == gridDim.x - 1) {
      *count = 0;
      __threadfence();
      *sense = s + 1;
    } else while (*sense == s) {}
    __threadfence();
  }
  __syncthreads();
}
extern "C" __global__ void g(int *a, unsigned *count, unsigned *sense, int *y) {
  int b = blockIdx.x;
  if (threadIdx.x == 31) a[b] = b;
  barrier(count, sense);
  int v = a[(b + 1) % 4];
  barrier(count, sense);
  if (threadIdx.x == 31) a[b] = v;
  barrier(count, sense);
  if (threadIdx.x == 5) y[b] = a[0] + a[1] + a[2] + a[3];
}
