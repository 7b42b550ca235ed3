// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *x, int *n, int *out) {
  int v = x[blockIdx.x * 32 + threadIdx.x];
  if (v > 50) {
    int at = atomicAdd(n, 1);
    out[at] = v;
  }
}
