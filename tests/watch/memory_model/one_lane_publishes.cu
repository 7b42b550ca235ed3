// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [2, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"], ["int32", 8, "out"]]}
// expect: race error line 12 hazard RAW variable data
extern "C" __global__ void k(int *data, int *flag, int *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    data[t] = t;
    ;
    if (t == 0) { __threadfence(); *(volatile int *)flag = 1; }
  } else {
    if (t == 0) { while (*(volatile int *)flag == 0) {} __threadfence(); }
    __syncwarp();
    out[t] = data[1 - t];
  }
}
