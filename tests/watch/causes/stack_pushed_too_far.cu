// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 40], ["int32", 32, "out"]]}
// expect: invalid-access error line 9 variable stack
// expect: invalid-access error line 12 variable stack
// first: invalid-access line 12
extern "C" __global__ void k(const int *x, int *y) {
  int stack[6], top = 0, sum = 0;
  stack[top++] = 0;
  while (top > 0) {
    int v = stack[--top];
    sum += x[v];
    for (int c = 1; c <= 3; ++c)
      if (3 * v + c < 40) stack[top++] = 3 * v + c;
  }
  y[threadIdx.x] = sum;
}
