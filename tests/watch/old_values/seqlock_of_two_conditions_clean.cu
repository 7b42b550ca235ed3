// launch: {"kernel": "s", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 1, "zero"], ["int32", 3, "zero"], ["int32", 1, "zero"]]}
// expect: clean
struct V { int x, y, z; };
__device__ V read(volatile unsigned *seq, volatile int *d) {
  V v; unsigned a;
  do {
    a = *seq;
    __threadfence();
    v.x = d[0]; v.y = d[1]; v.z = d[2];
    __threadfence();
  } while ((a & 1) || *seq != a);
  return v;
}
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
    V v = read(seq, d);
    if (v.x != v.y || v.y != v.z) atomicAdd(bad, 1);
  }
}
