// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: barrier-divergence error
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  if (t < 32) out[t] = __syncthreads_count(in[t] > 50);
  else out[t] = __syncthreads_count(in[t] > 70);
}
