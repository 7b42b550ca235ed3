// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *count) {
  int old;
  do {
    old = *(volatile int *)count;
    if (old >= 100) break;
  } while (atomicCAS(count, old, old + 1) != old);
}
