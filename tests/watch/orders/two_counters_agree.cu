// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 4, "zero"], ["int32", 4, "zero"]]}
// expect: invalid-access error line 7 variable keys
extern "C" __global__ void k(int *next, int *keys, int *values) {
  if (threadIdx.x) return;
  int key = atomicAdd(next, 1), value = atomicAdd(next + 1, 1);
  values[value] = blockIdx.x;
  keys[key * 4 - value * 3] = value;
}
