// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int *shown, int *written) {
  int was = *shown;
  if (was < 3) was = atomicMax((int *)shown, 3);
  if (was < 3) atomicAdd(written, 1);
}
