// launch: {"kernel": "k", "grid": [12, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 384]]}
// expect: clean
extern "C" __global__ void k(volatile int *n, int *work) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) { *n = 2; return; }
  while (*n < 1 + (int)blockIdx.x) { }
  for (int i = 0; i < blockIdx.x * 40; ++i) work[blockIdx.x * 32 + i % 32] += i;
  __threadfence();
  *n = *n + 1;
}
