// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 8, "out"]]}
// expect: clean
extern "C" __global__ void k(volatile int *full, int *slot, int *out) {
  for (int r = 0; r < 4; r++) {
    if (blockIdx.x == 0) { while (*full) {} __threadfence(); *slot = r; __threadfence(); *full = 1; }
    else { while (!*full) {} __threadfence(); out[r] = *slot; __threadfence(); *full = 0; }
  }
}
