// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: uninitialized-read error line 10 variable p
#include <stdio.h>
struct Pair { char c; int i; };
extern "C" __global__ void k(int *out) {
  int t = threadIdx.x;
  Pair p;
  p.c = 1;
  if (t == 0)
    printf("%d %d\n", p.c, p.i);
  out[t] = t;
}
