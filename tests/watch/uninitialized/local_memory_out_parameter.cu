// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: uninitialized-read error line 14 variable found
__device__ void first_above(const float *in, float limit, float *found) {
  for (int i = 0; i < 16; ++i)
    if (in[i] > limit) {
      *found = in[i];
      return;
    }
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  float found;
  first_above(in + at, 1e30f, &found);
  out[at] = found;
}
