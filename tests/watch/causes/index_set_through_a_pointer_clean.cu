// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
__device__ __noinline__ void scaled(int *at, int value) { *at = value * 2; }
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int first;
  int t = threadIdx.x, at;
  if (t == 40) first = x[t] % 8;
  __syncthreads();
  scaled(&at, first);
  y[t] = x[at + t % 32];
}
