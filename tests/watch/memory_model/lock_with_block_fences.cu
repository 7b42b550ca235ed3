// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error line 7 variable data
extern "C" __global__ void k(int *data, int *flag, int *out) {
  if (threadIdx.x) return;
  while (atomicCAS(flag, 0, 1) != 0) {}
  __threadfence_block();
  data[0] = data[0] + 1;
  __threadfence_block();
  atomicExch(flag, 0);
}
