// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: clean
#include <stdio.h>
extern "C" __global__ void k(int *out) {
  int t = threadIdx.x;
  int x;
  if (t > 40)
    x = 2;
  if (t == 41)
    printf("%d of %d\n", x, t);
  out[t] = t;
}
