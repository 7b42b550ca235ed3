// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 3, "out"]]}
// expect: clean
extern "C" __global__ void k(volatile int *ready, int *m, int *value, int *out) {
  if (!*ready) {
    while (atomicCAS(m, 0, 1)) {}
    __threadfence();
    if (!*ready) { *value = 42; __threadfence(); *ready = 1; }
    __threadfence();
    atomicExch(m, 0);
  }
  __threadfence();
  out[blockIdx.x] = *value;
}
