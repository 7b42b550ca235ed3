// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["float32", 64, "out"], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(volatile int *flag, float *data, float *out) {
  int t = threadIdx.x;
  if (blockIdx.x == 1) {
    data[t] = t;
    __threadfence();
    __syncthreads();
    if (t == 0) *flag = 1;
  } else {
    if (t == 0) {
      while (*flag == 0) __nanosleep(100);
      __threadfence();
    }
    __syncthreads();
    out[t] = data[t];
  }
}
