// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 128], ["float32", 32, "out"]]}
// expect: race error variable s
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[2][32];
  int lane = threadIdx.x & 31;
  if (threadIdx.x < 32) {
    for (int j = 0; j < 4; ++j) {
      s[j % 2][lane] = in[j * 32 + lane];
      asm volatile("bar.arrive %0, 64;" :: "r"(1 + j) : "memory");
    }
  } else {
    float v = 0;
    for (int j = 0; j < 4; ++j) {
      asm volatile("bar.sync %0, 64;" :: "r"(1 + j) : "memory");
      v += s[j % 2][31 - lane];
    }
    out[lane] = v;
  }
}
