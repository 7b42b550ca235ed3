// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"], 20]}
// expect: uninitialized-read error line 11 variable v
__device__ int square(int x) { return x * x; }
__device__ int square_if(bool is, int x) {
  return is ? square(x) : 0;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  int v;
  if (t < n) v = in[at];
  out[at] = square(v);
}
