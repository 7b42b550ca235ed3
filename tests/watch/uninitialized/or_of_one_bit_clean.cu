// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(unsigned *out) {
  atomicOr(&out[threadIdx.x], 0xffffffff);
}
