// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *bin, int *next, int *head) {
  int t = threadIdx.x;
  atomicExch(&head[t], -1);
  next[t] = atomicExch(&head[t], bin[t]);
}
