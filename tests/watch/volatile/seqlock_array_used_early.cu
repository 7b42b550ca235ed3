// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["int32", 4, "zero"], ["int32", 1, "zero"]]}
// expect: race error line 19 hazard RAW variable d
extern "C" __global__ void k(volatile unsigned *seq, volatile int *d, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int r = 1; r <= 3; ++r) {
      *seq = 2 * r - 1;
      __threadfence();
      for (int i = 0; i < 4; ++i) d[i] = r;
      __threadfence();
      *seq = 2 * r;
    }
  } else {
    int o[4];
    unsigned a, b;
    do {
      a = *seq;
      __threadfence();
      for (int i = 0; i < 4; ++i) o[i] = d[i];
      __threadfence();
      if (o[0] > 77) *bad = 5;
      b = *seq;
    } while (a != b || a & 1);
    if (o[0] != o[1] || o[1] != o[2] || o[2] != o[3]) atomicAdd(bad, 1);
  }
}
