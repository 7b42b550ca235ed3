// launch: {"kernel": "softmax_rows", "grid": [4, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 400], ["float32", 400, "out"]]}
extern "C" __global__ void softmax_rows(const float *in, float *out) {
  const float *row = in + blockIdx.x * 100;
  float most = row[0], sum = 0;
#pragma unroll 1
  for (int k = threadIdx.x; k < 100; k += 32) most = fmaxf(most, row[k]);
  for (int d = 16; d; d /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, d));
#pragma unroll 1
  for (int k = threadIdx.x; k < 100; k += 32) sum += row[k] - most;
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
#pragma unroll 1
  for (int k = threadIdx.x; k < 100; k += 32) out[blockIdx.x * 100 + k] = (row[k] - most) * sum;
}
