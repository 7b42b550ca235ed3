// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64, "inout"], 64]}
// expect: race error line 5 variable a
extern "C" __global__ void k(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) a[i] = (a[i - 1] + a[i] + a[i + 1]) / 3;
}
