// launch: {"kernel": "k", "grid": [4, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 1, "inout"]]}
// expect: race error line 5 variable sum
extern "C" __global__ void k(const float *in, float *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) sum[0] += in[i];
}
