// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: clean
#include <stdio.h>
struct Pair { char c; int i; };
extern "C" __global__ void k(int *out) {
  int t = threadIdx.x;
  Pair p, copy;
  p.c = 1;
  copy = p;
  if (t == 0)
    printf("%d %d\n", p.c, copy.c);
  out[t] = t;
}
