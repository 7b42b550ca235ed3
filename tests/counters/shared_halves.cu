// launch: {"kernel": "shared_halves", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint16", 4096], ["uint16", 4096, "out"]]}
extern "C" __global__ void shared_halves(const unsigned short *in, unsigned short *out) {
  __shared__ unsigned short s[32][34];
  int x = threadIdx.x % 32, first = threadIdx.x / 32, b = blockIdx.x * 1024;
  for (int y = first; y < 32; y += 2) s[y][x] = in[b + y * 32 + x];
  __syncthreads();
  for (int y = first; y < 32; y += 2) out[b + y * 32 + x] = s[x][y];
}
