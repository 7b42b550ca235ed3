// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *n, int *out) {
  int seen, me = threadIdx.x / 32;
  if (threadIdx.x % 32) return;
  if (me == 0) atomicExch(n, 1);
  else {
    do seen = atomicAdd(n, 0); while (seen != me);
    atomicExch(n, seen + 1);
  }
  out[me] = me;
}
