// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 64, "zero"], ["int32", 4, "zero"]]}
// expect: race error line 6 variable flag
extern "C" __global__ void k(volatile int *flag, int *entered) {
  int me = blockIdx.x, other = 1 - me;
  flag[32 * me] = 1;
  if (flag[32 * other] == 0) atomicAdd(entered, 1);
}
