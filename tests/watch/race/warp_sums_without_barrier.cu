// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: race error line 8 hazard RAW variable sums
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float sums[2];
  float x = in[threadIdx.x];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xFFFFFFFFu, x, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  if (threadIdx.x == 0) out[0] = sums[0] + sums[1];
}
