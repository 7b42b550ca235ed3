// launch: {"kernel": "shared_float3_rows", "grid": [1, 1, 1], "block": [96, 1, 1], "shared": 0, "args": [["float32", 288], ["float32", 288, "out"]]}
extern "C" __global__ void shared_float3_rows(const float *in, float *out) {
  __shared__ float s[288];
  int t = threadIdx.x;
  for (int i = t; i < 288; i += 96) s[i] = in[i];
  __syncthreads();
  float sum = s[3 * t] + s[3 * t + 1] + s[3 * t + 2];
  for (int c = 0; c < 3; c++) out[c * 96 + t] = sum - s[3 * t + c];
}
