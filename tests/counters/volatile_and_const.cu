// launch: {"kernel": "volatile_and_const", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "inout"]]}
extern "C" __global__ void volatile_and_const(const float *__restrict__ in, volatile float *shared_with_others) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = __ldg(in + i), b = shared_with_others[127 - i];
  __syncthreads();
  shared_with_others[127 - i] = a + b;
}
