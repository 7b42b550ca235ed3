// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *inside, int *data) {
  if (threadIdx.x) return;
  while (atomicCAS(inside, 0, 1)) {} __threadfence();
  data[0] += 1;
  __threadfence(); atomicSub(inside, 1);
}
