// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["uint16", 64], ["uint32", 64, "out"]]}
// expect: clean
union Word { unsigned u; unsigned short h[2]; };
extern "C" __global__ void k(const unsigned short *x, unsigned *y) {
  __shared__ Word w[64];
  w[threadIdx.x].h[0] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = w[threadIdx.x ^ 1].u & 0xffff;
}
