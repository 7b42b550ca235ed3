// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 64, "inout"], ["float32", 64, "inout"]]}
// expect: clean
extern "C" __global__ void k(float *a, float *b) {
  int i = blockIdx.x * 32 + threadIdx.x;
  float *src = a, *dst = b;
  for (int n = 0; n < 1; ++n) {
    float left = i > 0 ? src[i - 1] : 0, right = i < 63 ? src[i + 1] : 0;
    dst[i] = 0.5f * (left + right);
    __syncthreads();
    float *other = src;
    src = dst;
    dst = other;
  }
}
