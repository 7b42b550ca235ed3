// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 4, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *n, int *before) {
  if (threadIdx.x) return;
  int first = n[0], found = first, expected;
  do {
    expected = found;
    found = atomicCAS(n, expected, expected + 1);
  } while (expected != found);
  before[blockIdx.x] = found;
}
