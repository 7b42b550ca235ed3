// launch: {"kernel": "swizzled_transpose", "grid": [2, 1, 1], "block": [32, 8, 1], "shared": 0, "args": [["float32", 2048], ["float32", 2048, "out"]]}
extern "C" __global__ void swizzled_transpose(const float *in, float *out) {
  __shared__ float s[32][32];
  int x = threadIdx.x, b = blockIdx.x * 1024;
  for (int y = threadIdx.y; y < 32; y += 8) s[y][x ^ y] = in[b + y * 32 + x];
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) out[b + y * 32 + x] = s[x][y ^ x];
}
