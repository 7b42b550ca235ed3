// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: race error line 7 variable most
__device__ int raise(int *most, int v) {
  int old = *most;
  while (v > old) {
    int seen = old;
    old = atomicCAS(most, seen, v);
    if (old == seen) break;
  }
  return old;
}
extern "C" __global__ void k(int *most, int *before) {
  before[blockIdx.x * 32 + threadIdx.x] = raise(most, threadIdx.x);
}
