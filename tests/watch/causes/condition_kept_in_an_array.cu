// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error variable last
// expect: barrier-divergence error
// The race explains reads before the first store.
// first: race variable last
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int last[2];
  int t = threadIdx.x;
  if (t == 0) { last[0] = x[0]; last[1] = x[1]; }
  bool flags[2];
  for (int k = 0; k < 2; k++) flags[k] = last[k] > 3;
  if (flags[t & 1]) {
    y[t] = 1;
    __syncthreads();
  }
  y[t] = 2;
}
