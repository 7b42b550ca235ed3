// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *taken, int *winners) {
  if (atomicAdd(taken, 0) == 0) {
    if (atomicExch(taken, 1)) return;
    atomicAdd(winners, 1);
  }
}
