// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 32, "out"]]}
// expect: uninitialized-read error line 4
extern "C" __global__ void k(unsigned *out) {
  atomicAnd(&out[threadIdx.x], threadIdx.x & 1);
}
