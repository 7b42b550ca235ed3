// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
__device__ int lock, total;
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  for (int d = 16; d; d /= 2) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) { while (atomicCAS(&lock, 0, 1)); __threadfence(); total += v; __threadfence(); atomicExch(&lock, 0); }
  out[t] = v;
}
