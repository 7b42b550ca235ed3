// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "out"]]}
// expect: lost-update error line 8 variable least
extern "C" __global__ void k(const int *x, int *out) {
  __shared__ int least;
  if (threadIdx.x == 0) least = 1 << 30;
  __syncthreads();
  int own = x[threadIdx.x] * 37 % 64;
  if (own < atomicAdd(&least, 0)) atomicExch(&least, own);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = least;
}
