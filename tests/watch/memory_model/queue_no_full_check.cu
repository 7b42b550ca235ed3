// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [1, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"], ["int32", 8, "out"]]}
// expect: race error variable slot
extern "C" __global__ void k(volatile int *full, int *slot, int *out) {
  for (int r = 1; r < 4; r++) {
    if (blockIdx.x == 0) { *slot = r; __threadfence(); *full = r; }
    else { while (*full < r) {} __threadfence(); out[r] = *slot; }
  }
}
