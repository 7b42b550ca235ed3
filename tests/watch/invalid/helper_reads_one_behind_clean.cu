// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
__device__ float load(const float *p, int i) {
  return p[i];
}
extern "C" __global__ void k(const float *x, float *y) {
  int i = threadIdx.x;
  float a = load(x, i);
  float b = load(x, 63 - i);
  y[i] = a + b;
}
