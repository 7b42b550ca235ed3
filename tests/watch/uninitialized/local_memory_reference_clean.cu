// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
__device__ void add(float &sum, float x) {
  sum += x;
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 8; ++i) add(sum, in[at + i]);
  out[at] = sum;
}
