// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint32", 2, "zero"], ["int32", 128, "zero"]]}
// expect: timeout error line 6
extern "C" __global__ void k(unsigned* lock, int* taken) {
  unsigned mine = atomicAdd(&lock[0], 1);
  if (mine >= 100) return;
  while (atomicAdd(&lock[1], 0) != mine) {
  }
  __threadfence();
  taken[0] = taken[0] + 1;
  __threadfence();
  if (mine != 70) atomicAdd(&lock[1], 1);
}
