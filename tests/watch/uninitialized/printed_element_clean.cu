// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64, "out"]]}
// expect: clean
#include <stdio.h>
extern "C" __global__ void k(int *out) {
  int t = threadIdx.x;
  long long a[4], kept[4];
  for (int n = 0; n < 4; ++n)
    if (n != 2) a[n] = t;
  kept[2] = a[2];
  if (t == 0)
    printf("%lld %lld\n", a[0], a[3]);
  out[t] = t;
}
