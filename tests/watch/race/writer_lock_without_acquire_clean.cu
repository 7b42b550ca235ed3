// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"], ["int32", 1, "zero"], ["int32", 2, "zero"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y, int *state, int *data) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int i = 0; i < 3; i++) {
      while (atomicCAS(state, 0, -1) != 0) {}
      __threadfence();
      data[0] = x[i];
      data[1] = x[i];
      __threadfence();
      atomicExch(state, 0);
    }
  } else {
    for (;;) {
      int n = atomicAdd(state, 0);
      if (n >= 0 && atomicCAS(state, n, n + 1) == n) break;
    }
    __threadfence();
    y[blockIdx.x] = data[0] + data[1];
    __threadfence();
    atomicSub(state, 1);
  }
}
