// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 8, "zero"]]}
// expect: race error line 10 hazard RAW variable message
extern "C" __global__ void k(volatile int *message, int *sum) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    message[0] = 5;
    message[1] = 1;
  } else {
    while (message[1] == 0) { }
    atomicAdd(sum, message[0]);
  }
}
