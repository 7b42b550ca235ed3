// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 9, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *next, int *done) {
  if (threadIdx.x % 32) return;
  for (int job = atomicAdd(next, 1); job < 9; job = atomicAdd(next, 1)) done[job] = job + 1;
}
