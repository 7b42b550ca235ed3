// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  float v;
  double d;
  char c;
  bool b;
  unsigned short u;
  if (t < n) v = in[at], d = v, c = 3, b = v > 0, u = 4;
  float w = v;
  double e = d;
  char c2 = c;
  bool b2 = b;
  unsigned short u2 = u;
  __syncthreads();
  out[at] = t < n ? w + e + c2 + b2 + u2 : 0;
}
