// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["uint64", 4, "zero"], ["uint32", 8, "zero"]]}
// expect: clean
extern "C" __global__ void k(unsigned long long *w, unsigned *out) {
  atomicMax(w, (unsigned long long)blockIdx.x << 32);
}
