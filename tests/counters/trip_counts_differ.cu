// launch: {"kernel": "trip_counts_differ", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["float32", 1024], ["float32", 128, "out"]]}
extern "C" __global__ void trip_counts_differ(const int *length, const float *in, float *out) {
  int i = blockIdx.x * 64 + threadIdx.x, n = (length[i] & 7) + 1;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < n; k++) sum += in[i * 8 + k];
  out[i] = sum;
}
