// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: race error line 6
__device__ int lock, total;
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t % 32 == 0) { atomicCAS(&lock, 0, 1); __threadfence(); total += in[t]; __threadfence(); atomicExch(&lock, 0); }
  out[t] = 0;
}
