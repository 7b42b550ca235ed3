// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32]]}
// expect: timeout error line 8
extern "C" __global__ void k(int* sums) {
  __shared__ volatile int turn;
  __shared__ int sum;
  if (threadIdx.x == 0) turn = sum = 0;
  __syncthreads();
  while (turn != threadIdx.x) {
  }
  __threadfence_block();
  sum = sum + threadIdx.x;
  sums[threadIdx.x] = sum;
  if (sum < 66) {
    __threadfence_block();
    turn = threadIdx.x + 1;
  }
}
