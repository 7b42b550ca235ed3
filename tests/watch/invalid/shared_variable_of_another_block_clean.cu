// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int64", 2, "zero"], ["int32", 128, "zero"]]}
// expect: clean
// Each block reads its own pointers back.
extern "C" __global__ void k(int **mail, int *out) {
  __shared__ int value, values[64];
  int t = threadIdx.x;
  values[t] = t;
  if (t == 0) {
    value = blockIdx.x + 5;
    mail[blockIdx.x] = blockIdx.x ? &value : &values[3];
  }
  __syncthreads();
  int *own = mail[blockIdx.x];
  out[blockIdx.x * 64 + t] = *own + values[63 - t] + (own == &value);
}
