// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int8", 256], ["int32", 64, "out"]]}
// expect: invalid-access error line 5 variable in
extern "C" __global__ void k(const char *in, int *out) {
  int t = threadIdx.x;
  out[t] = *(const int *)(in + t);
}
