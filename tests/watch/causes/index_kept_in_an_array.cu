// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 12 variable count
// expect: invalid-access error line 13
// first: race line 12 variable count
extern "C" __global__ void k(const int *x, int *y) {
  __shared__ int count;
  int t = threadIdx.x;
  if (t == 0) count = 0;
  __syncthreads();
  if (x[t] > 50) atomicAdd(&count, 1);
  int at[4];
  for (int k = 0; k < 4; k++) at[k] = count + 40 * k;
  y[t] = x[at[x[t] & 3]];
}
