// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 1, 1], "shared": 0, "args": [["uint8", 64], ["uint32", 16, "zero"]]}
// expect: clean
extern "C" __global__ void k(const unsigned char *in, unsigned *out) {
  __shared__ unsigned char bins[16][16];
  for (int i = threadIdx.x; i < 256; i += 16) ((unsigned char *)bins)[i] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += 16) ++bins[in[i] % 16][threadIdx.x];
  __syncthreads();
  unsigned n = 0;
  for (int r = 0; r < 16; ++r) n += bins[threadIdx.x][r];
  out[threadIdx.x] = n;
}
