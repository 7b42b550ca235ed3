// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: uninitialized-read error line 11 variable w
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int w;
  switch (in[at] & 3) {
    case 0: w = 5; break;
    case 1: w = 7; break;
    case 2: w = 9; break;
  }
  out[at] = w * 2;
}
