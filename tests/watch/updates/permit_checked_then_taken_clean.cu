// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
__device__ int left = 2;
extern "C" __global__ void k(int *given, int *asked) {
  atomicAdd(asked, 1);
  if (*(volatile int *)&left > 0) {
    if (atomicSub(&left, 1) > 0) atomicAdd(given, 1);
  }
}
