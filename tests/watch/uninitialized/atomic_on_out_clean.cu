// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  out[threadIdx.x] = 0;
  atomicAdd(&out[threadIdx.x], in[threadIdx.x]);
}
