// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "out"]]}
// expect: race error line 5 variable count
extern "C" __global__ void k(int *count, int *out) {
  atomicAdd(count, 1);
  if (threadIdx.x == 0) out[blockIdx.x] = *count;
}
