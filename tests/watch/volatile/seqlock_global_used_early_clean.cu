// launch: {"kernel": "s", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["int32", 3, "zero"], ["int32", 4, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void s(volatile unsigned *seq, volatile int *d, int *o, int *bad) {
  if (threadIdx.x) return;
  if (blockIdx.x == 0) {
    for (int k = 1; k <= 3; ++k) {
      *seq = 2 * k - 1;
      __threadfence();
      for (int j = 0; j < 3; ++j) d[j] = k;
      __threadfence();
      *seq = 2 * k;
    }
  } else {
    unsigned a;
    int x = 0;
    do {
      a = *seq;
      __threadfence();
      for (int j = 0; j < 3; ++j) o[j] = d[j];
      __threadfence();
    } while ((a & 1) || *seq != a);
    if (o[0] != o[1] || o[1] != o[2]) atomicAdd(bad, 1);
    if (x) o[3] = 1;
  }
}
