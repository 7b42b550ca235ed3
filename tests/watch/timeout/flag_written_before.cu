// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: timeout error line 8 variable ready
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ volatile int ready;
  int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t >= 32) while (!ready) {}
  y[t] = x[t];
}
