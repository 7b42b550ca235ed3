// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 50], ["float32", 50, "out"], 50]}
// expect: invalid-access error line 6 variable in
// expect: invalid-access error line 6 variable out
extern "C" __global__ void k(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + n;
}
