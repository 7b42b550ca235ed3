// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
__device__ __forceinline__ float load(const float *p, int i) {
  return p[i];
}
__device__ __forceinline__ float both(const float *p, int i) {
  return load(p, i) +
    load(p, 63 - i);
}
extern "C" __global__ void k(const float *x, float *y) {
  int i = threadIdx.x;
  y[i] = both(x, i);
}
