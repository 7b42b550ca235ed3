// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  __shared__ int *slot[64];
  int t = threadIdx.x, mine[2];
  mine[in[t] & 1] = in[t]; mine[~in[t] & 1] = t;
  slot[t] = mine;
  __syncthreads();
  out[t] = slot[t][in[t] & 1];
}
