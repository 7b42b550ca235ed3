// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *lock, int *sum) {
  int t = threadIdx.x;
  if (t == 0) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(10);
    __threadfence();
  }
  __syncthreads();
  sum[63 - t] += t;
  __threadfence();
  __syncthreads();
  if (t == 0) atomicExch(lock, 0);
}
