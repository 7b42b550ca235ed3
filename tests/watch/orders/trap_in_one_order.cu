// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: launch-failure error line 6
extern "C" __global__ void k(int *lock, int *count) {
  if (threadIdx.x) return;
  while (atomicCAS(lock, 0, 1)) {}
  __threadfence(); if (++*count == 1 && blockIdx.x == 1) __trap();
  __threadfence();
  atomicExch(lock, 0);
}
