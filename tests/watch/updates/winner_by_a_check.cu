// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: lost-update error line 5 variable taken
extern "C" __global__ void k(int *taken, int *winners) {
  if (atomicAdd(taken, 0) == 0) {
    atomicExch(taken, 1);
    atomicAdd(winners, 1);
  }
}
