// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: timeout error line 5 variable mutex
extern "C" __global__ void k(const int *x, int *mutex, int *count) {
  int v = x[threadIdx.x];
  while (atomicCAS(mutex, 0, 1) != 0) {}
  __threadfence();
  *count += v;
  __threadfence();
  __syncwarp();
  atomicExch(mutex, 0);
}
