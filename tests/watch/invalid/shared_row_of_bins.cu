// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 2, 1], "args": [["uint8", 64], ["uint32", 64, "out"]]}
// expect: invalid-access info line 8 variable bins[...]
extern "C" __global__ void k(const unsigned char *in, unsigned *out) {
    __shared__ unsigned bins[9][32];
    int x = threadIdx.x, y = threadIdx.y;
    for (int b = y; b < 9; b += 2) bins[b][x] = 0;
    __syncthreads();
    atomicAdd(&bins[y][in[y * 32 + x]], 1u);
    __syncthreads();
    out[y * 32 + x] = bins[y][x];
}
