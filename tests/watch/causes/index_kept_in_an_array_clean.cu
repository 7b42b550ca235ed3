// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int count;
  int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  if (x[t] > 50) atomicAdd(&count, 1);
  __syncthreads();
  int at[4];
  for (int k = 0; k < 4; k++) at[k] = (count + 40 * k) % 64;
  y[t] = x[at[x[t] & 3]];
}
