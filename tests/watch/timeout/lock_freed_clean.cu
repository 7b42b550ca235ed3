// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(int *lock, int *out) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      atomicAdd(lock + 1, 1);
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
  out[threadIdx.x] = 1;
}
