// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"]]}
// expect: race error line 11 hazard RAW variable message
#include <cstdio>
extern "C" __global__ void k(volatile int *message) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    message[0] = 4;
    message[1] = 1;
  } else {
    while (message[1] == 0) { }
    printf("%d\n", message[0]);
  }
}
