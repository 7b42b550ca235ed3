// launch: {"kernel": "k", "grid": [8, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *used, int *slots) {
  if (threadIdx.x || atomicAdd(used, 0) >= 4) return;
  int slot = atomicAdd(used, 1);
  if (slot < 4) slots[slot] = blockIdx.x;
}
