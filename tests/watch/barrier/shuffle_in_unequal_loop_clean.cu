// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int v = in[threadIdx.x], n = 0;
  for (int j = 0; j < 3; ++j) n += __shfl_xor_sync(~0u, v, 1);
  __syncwarp();
  out[threadIdx.x] = n;
}
