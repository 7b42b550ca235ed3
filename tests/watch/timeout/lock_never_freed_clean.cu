// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(int *lock, int *out) {
  if (threadIdx.x == 0)
    while (atomicCAS(lock, 0, 1) != 0) {}
  out[threadIdx.x] = 1;
}
