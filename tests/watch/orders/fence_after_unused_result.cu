// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error line 7 hazard RAW variable data
// The second block only looks as if it waited for the first.
extern "C" __global__ void k(int *flag, int *data, int *out) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) { data[0] = 5; __threadfence(); atomicAdd(flag, 1); }
  else { atomicAdd(flag, 0); __threadfence(); out[0] = data[0]; }
}
