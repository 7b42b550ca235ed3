// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64, "inout"]]}
// expect: race error line 6 hazard WAR variable a
extern "C" __global__ void k(float *a) {
  int t = threadIdx.x;
  float x = a[63 - t];
  a[t] = x;
}
