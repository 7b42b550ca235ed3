// launch: {"kernel": "shared_float4_columns", "grid": [1, 1, 1], "block": [32, 2, 1], "shared": 0, "args": [["float32", 2048], ["float32", 2048, "out"]]}
extern "C" __global__ void shared_float4_columns(const float4 *in, float4 *out) {
  __shared__ float4 s[32][17];
  int t = threadIdx.y * 32 + threadIdx.x;
  for (int i = t; i < 512; i += 64) s[i / 16][i % 16] = in[i];
  __syncthreads();
  for (int i = t; i < 512; i += 64) out[i] = s[i % 32][i / 32];
}
