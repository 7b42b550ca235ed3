// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(int *data, int *flag, int *out) {
  if (blockIdx.x == 0) {
    data[0] = 7;
    __threadfence();
    *(volatile int *)flag = 1;
  } else {
    while (*(volatile int *)flag == 0) {}
    __threadfence();
    out[0] = data[0];
  }
}
