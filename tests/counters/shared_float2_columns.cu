// launch: {"kernel": "shared_float2_columns", "grid": [1, 1, 1], "block": [32, 4, 1], "shared": 0, "args": [["float32", 2048], ["float32", 2048, "out"]]}
extern "C" __global__ void shared_float2_columns(const float2 *in, float2 *out) {
  __shared__ float2 s[32][33];
  int x = threadIdx.x;
  for (int y = threadIdx.y; y < 32; y += 4) s[y][x] = in[y * 32 + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 4) out[y * 32 + x] = s[x][y];
}
