// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
// The second block waits for the first.
extern "C" __global__ void k(int *flag, int *data, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) { data[0] = 5; __threadfence(); atomicAdd(flag, 1); }
  else { while (atomicAdd(flag, 0) == 0) {} __threadfence(); out[0] = data[0]; }
}
