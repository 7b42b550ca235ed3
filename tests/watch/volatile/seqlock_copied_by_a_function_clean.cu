// launch: {"kernel": "s", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["int32", 3, "zero"], ["int32", 1, "zero"]]}
// expect: clean
__device__ void copy(int *to, volatile const int *from, int n) { for (int j = 0; j < n; ++j) to[j] = from[j]; }
extern "C" __global__ void s(volatile unsigned *seq, volatile int *d, int *bad) {
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
    int o[3];
    do {
      a = *seq;
      __threadfence();
      copy(o, d, 3);
      __threadfence();
    } while ((a & 1) || *seq != a);
    if (o[0] != o[1] || o[1] != o[2]) atomicAdd(bad, 1);
  }
}
