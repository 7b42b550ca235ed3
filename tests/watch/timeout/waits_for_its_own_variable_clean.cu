// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  volatile int go = 0;
  int t = threadIdx.x;
  while (go == 0) go = 1;
  y[t] = x[t];
}
