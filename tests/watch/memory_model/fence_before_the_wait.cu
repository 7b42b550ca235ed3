// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error line 11 hazard RAW variable data
extern "C" __global__ void k(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    *(volatile int *)flag = 1;
  } else {
    __threadfence();
    while (*(volatile int *)flag == 0) {}
    out[0] = data[0];
  }
}
