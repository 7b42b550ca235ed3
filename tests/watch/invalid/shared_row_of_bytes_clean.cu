// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 4, 1], "args": [["uint8", 128], ["uint8", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const unsigned char *in, unsigned char *out) {
    __shared__ unsigned char text[5][32];
    unsigned char x = threadIdx.x, y = threadIdx.y;
    text[y][x] = in[y * 32 + x];
    if (y == 0) text[4][x] = 0;
    __syncthreads(); unsigned char c = *(&text[y][x] + 1) + text[y][x] + text[y][(x + 1) & 31];
    out[y * 32 + x] = c;
}
