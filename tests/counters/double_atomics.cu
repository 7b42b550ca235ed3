// launch: {"kernel": "double_atomics", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float64", 128], ["float64", 512, "zeros"]]}
extern "C" __global__ void double_atomics(const double *in, double *sum) {
  int i = blockIdx.x * 64 + threadIdx.x;
  atomicAdd(&sum[4 * i], in[i]);
}
