// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: invalid-access error line 8
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, a[2] = {in[t], t}; __shared__ int *leader;
  int first = __ffs(__ballot_sync(~0u, in[t] >= 0)) - 1;
  if (t == first) leader = a;
  __syncthreads();
  if (t < 8) atomicAdd(&leader[in[t] & 1], 1);
  __syncthreads();
  out[t] = a[in[t] & 1];
}
