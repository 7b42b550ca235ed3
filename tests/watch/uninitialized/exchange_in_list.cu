// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 5 variable head
extern "C" __global__ void k(const int *bin, int *next, int *head) {
  int t = threadIdx.x;
  next[t] = atomicExch(&head[bin[t] & 3], t);
}
