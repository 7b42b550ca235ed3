// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 64, "zero"]]}
// expect: clean
// A flag that asks to stop: whether a round earlier or later does not matter.
#include <cstdio>
extern "C" __global__ void k(volatile int *stop, int *rounds) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) stop[0] = 1;
    return;
  }
  int done = 0;
  while (done < 40 && !stop[0]) ++done;
  rounds[threadIdx.x] = done >= 0;
  if (threadIdx.x == 0 && done < 0) printf("%d rounds\n", done);
}
