// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 2, "zero"], ["int32", 1, "zero"]]}
// expect: race error variable n
extern "C" __global__ void k(int *m, int *n) {
  while (atomicCAS(&m[blockIdx.x], 0, 1)) {}
  __threadfence(); n[0]++; __threadfence();
  atomicExch(&m[blockIdx.x], 0);
}
