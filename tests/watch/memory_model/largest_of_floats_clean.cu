// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 128], ["int32", 1, "zero"]]}
// expect: clean
__device__ float largest(int *best, float x) {
  int old = *best, expected;
  do {
    expected = old;
    float more = x > __int_as_float(expected) ? x : __int_as_float(expected);
    old = atomicCAS(best, expected, __float_as_int(more));
  } while (old != expected);
  return __int_as_float(expected);
}
extern "C" __global__ void k(const float *x, int *best) {
  int t = blockIdx.x * 32 + threadIdx.x;
  if (largest(best, x[t]) < x[t]) atomicAdd(best, 0);
}
