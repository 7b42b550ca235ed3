// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [128, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t < 32) {
    out[t] = in[t];
  }
  __syncthreads();
}
