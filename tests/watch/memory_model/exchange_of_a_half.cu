// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint64", 4, "zero"], ["uint32", 8, "zero"]]}
// expect: race error variable w
extern "C" __global__ void k(unsigned long long *w, unsigned *out) {
  if (threadIdx.x == 0) atomicExch(w, 5ull);
  if (threadIdx.x == 32) atomicExch((unsigned *)w + 1, 5u);
}
