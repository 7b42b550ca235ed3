// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(volatile int* done, int* total) {
  int me = blockIdx.x * 64 + (threadIdx.x % 2) * 32 + threadIdx.x / 2;
  if (me) {
    while (!done[me - 1]) {
    }
  }
  __threadfence();
  total[0] += me;
  __threadfence();
  if (me != 177) done[me] = 1;
}
