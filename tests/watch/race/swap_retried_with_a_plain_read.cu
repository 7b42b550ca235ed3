// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"]]}
// expect: race error line 6 variable count
extern "C" __global__ void k(int *count) {
  int old;
  do {
    old = *count;
    if (old >= 100) break;
  } while (atomicCAS(count, old, old + 1) != old);
}
