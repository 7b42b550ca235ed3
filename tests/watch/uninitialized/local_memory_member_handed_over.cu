// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 11 variable z
struct Complex {
  float re, im;
};
__device__ float norm(Complex z) { return z.re * z.re + z.im * z.im; }
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  Complex z;
  z.re = in[at];
  out[at] = norm(z);
}
