// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 1, "zero"], ["int32", 64, "out"]]}
// expect: race error line 8 hazard WAR variable n
// expect: race warning line 9 variable out
extern "C" __global__ void k(const int *x, int *n, int *out) {
  int v = x[blockIdx.x * 32 + threadIdx.x];
  if (v > 50) {
    int at = *n;
    atomicAdd(n, 1);
    out[at] = v;
  }
}
