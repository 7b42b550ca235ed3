// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable n
extern "C" __global__ void k(int *lock, int *n) {
  if (threadIdx.x) return;
  int *mine = lock + blockIdx.x % 2;
  while (atomicCAS(mine, 0, 1)) {}
  __threadfence();
  *n = *n + 1;
  __threadfence();
  atomicExch(mine, 0);
}
