// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"], 64]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float *p = i == 7 ? out : in;
  out[i] = p == in ? p[i] : n;
}
