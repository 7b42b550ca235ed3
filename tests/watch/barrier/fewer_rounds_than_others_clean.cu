// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 128; i += 64) {
    s[t] = i + t < 100 ? in[i + t] : 0;
    __syncthreads();
    sum += s[t];
  }
  out[t] = sum;
}
