// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 9, "zero"]]}
// expect: invalid-access error line 7 variable done
extern "C" __global__ void k(int *next, int *done) {
  if (threadIdx.x % 32) return;
  while (atomicAdd(next, 0) < 9) {
    int job = atomicAdd(next, 1);
    done[job] = job + 1;
  }
}
