// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint8", 64], ["uint32", 16, "zero"]]}
// expect: race error line 7 variable bins
extern "C" __global__ void k(const unsigned char *in, unsigned *out) {
  __shared__ unsigned char bins[16][16];
  for (int i = threadIdx.x; i < 256; i += 64) ((unsigned char *)bins)[i] = 0;
  __syncthreads();
  ++bins[in[threadIdx.x] % 16][threadIdx.x % 16];
  __syncthreads();
  if (threadIdx.x < 16) {
    unsigned n = 0;
    for (int r = 0; r < 16; ++r) n += bins[threadIdx.x][r];
    out[threadIdx.x] = n;
  }
}
