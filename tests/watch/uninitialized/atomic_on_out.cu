// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 4 variable out
extern "C" __global__ void k(const int *in, int *out) {
  atomicAdd(&out[threadIdx.x], in[threadIdx.x]);
}
