// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], ["int64", 2, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, long long *slots) {
  int t = threadIdx.x;
  long long start = clock64();
  float x = in[t];
  for (int i = 0; i < 20; i++) x = x * 0.5f + 1;
  out[t] = x;
  __syncthreads();
  if (t % 32 == 0) slots[t / 32] = clock64() - start;
}
