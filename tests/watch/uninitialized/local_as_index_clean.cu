// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int place;
  if (in[at] < 200) {
    if (t < 40) place = at;
    if (t < 40) out[at] = in[place & 127];
  }
}
