// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: race error line 7 hazard WAW variable data
// expect: race error line 7 hazard WAR variable data
extern "C" __global__ void k(int *inside, int *data) {
  if (threadIdx.x) return;
  atomicAdd(inside, 1); __threadfence();
  data[0] += 1;
  __threadfence(); atomicSub(inside, 1);
}
