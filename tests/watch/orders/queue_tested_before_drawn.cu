// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 8, "zero"]]}
// expect: invalid-access error line 7 variable done
extern "C" __global__ void k(int *next, int *done) {
  if (threadIdx.x) return;
  while (*(volatile int *)next < 8) {
    int job = atomicAdd(next, 1);
    done[job] = job + 1;
  }
}
