// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64, "inout"]]}
// expect: clean
extern "C" __global__ void k(float *a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = a[i];
  __syncthreads();
  a[i] = x + 1;
}
