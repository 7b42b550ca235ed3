// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 9 variable r
struct Range {
  char tag;
  float low, high;
};
__device__ void widen(Range &r, float x) {
  r.low = fminf(r.low, x);
  r.high = fmaxf(r.high, x);
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  Range r;
  r.tag = 1;
  r.low = 1e30f;
  for (int i = 0; i < 8; ++i) widen(r, in[at + i]);
  out[at] = r.high - r.low;
}
