// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 11 variable acc
__device__ __noinline__ float filled(const float *in) {
  float all[4];
  for (int i = 0; i < 4; ++i) all[i] = in[i];
  return all[0] + all[3];
}
__device__ __noinline__ float summed(const float *in) {
  float acc[4];
  for (int i = 0; i < 4; ++i)
    acc[i] += in[i];
  return acc[0] + acc[3];
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float before = filled(in + at);
  out[at] = before + summed(in + at);
}
