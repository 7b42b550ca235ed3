// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 8, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *n, int *lock, volatile int *out) {
  if (threadIdx.x == 32) n[0] += 3;
  __syncthreads();
  if (threadIdx.x == 0) n[0] += 3;
}
