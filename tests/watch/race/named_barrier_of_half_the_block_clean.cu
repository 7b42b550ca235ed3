// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[96];
  int t = threadIdx.x;
  s[t] = in[t % 64];
  if (t < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  if (t < 64) out[t] = s[63 - t];
}
