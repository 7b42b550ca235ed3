// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "zero"]]}
// expect: clean
// Any block may start the next round for all, once all have entered the present one.
extern "C" __global__ void k(int *round, int *entered) {
  if (threadIdx.x) return;
  int now = atomicAdd(round, 0);
  atomicAdd(&entered[now], 1);
  if (atomicAdd(&entered[now], 0) == gridDim.x) atomicCAS(round, now, now + 1);
}
