// launch: {"kernel": "k", "grid": [3, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 3, "out"]]}
// expect: race error variable n
extern "C" __global__ void k(int *m, int *n, int *out) {
  while (atomicCAS(m, 0, 1)) {}
  __threadfence(); n[0]++; __threadfence();
  atomicExch(m, 0);
  out[blockIdx.x] = n[0];
}
