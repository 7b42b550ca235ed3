// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "inout"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *count) {
  atomicAdd(count, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 40) count[0] = 0;
}
