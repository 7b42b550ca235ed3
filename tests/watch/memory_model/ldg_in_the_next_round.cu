// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "inout"], ["float32", 64, "out"]]}
// expect: race error line 7 variable x
extern "C" __global__ void k(const float *in, float *x, float *out) {
  int t = threadIdx.x;
  float v = 0;
  for (int r = 0; r < 3; ++r) {
    v += __ldg(&x[t ^ 1]);
    __syncthreads();
    x[t] = v;
    __syncthreads();
  }
  out[t] = v;
}
