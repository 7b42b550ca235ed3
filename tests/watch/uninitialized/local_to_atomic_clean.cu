// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 128, "zero"], 20]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int t = threadIdx.x, at = blockIdx.x * 64 + t;
  float v;
  if (t < n) v = in[at];
  if (t < n) atomicAdd(out, v);
}
