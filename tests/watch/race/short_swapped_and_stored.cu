// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint16", 2, "zero"], ["uint16", 128, "zero"]]}
// expect: race error variable sum
extern "C" __global__ void k(unsigned short *sum, unsigned short *before) {
  unsigned short old = *sum, seen;
  before[blockIdx.x * 64 + threadIdx.x] = old;
  do {
    seen = old;
    old = atomicCAS(sum, seen, (unsigned short)(seen + 1));
  } while (seen != old);
}
