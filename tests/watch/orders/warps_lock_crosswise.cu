// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: timeout error line 3
__device__ void take(int *lock, int number) { while (atomicCAS(lock + number, 0, 1)) __nanosleep(20); __threadfence(); }
extern "C" __global__ void k(int *sum) {
  __shared__ int lock[2];
  int first = threadIdx.x / 32, second = 1 - first;
  if (threadIdx.x < 2) lock[threadIdx.x] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) { take(lock, first); take(lock, second); *sum += 1; __threadfence();
    atomicExch(lock + second, 0); atomicExch(lock + first, 0); }
}
