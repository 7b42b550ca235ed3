// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64, "inout"]]}
// expect: race error line 7 hazard WAR variable a
extern "C" __global__ void k(float *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i + 1 < 64 ? a[i + 1] : 0;
  __syncthreads();
  a[i] = x;
}
