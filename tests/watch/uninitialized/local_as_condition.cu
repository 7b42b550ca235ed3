// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: uninitialized-read error line 7 variable found
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int found;
  if (in[at] > 1000) found = 1;
  if (found > 0)
    out[at] = 1;
}
