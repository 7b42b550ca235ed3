// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 8, 1], "shared": 288, "args": [["float32", 64], ["float32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
    extern __shared__ float rows[][8];
    int x = threadIdx.x, y = threadIdx.y;
    rows[y][x] = in[y * 8 + x];
    if (y == 0) rows[8][x] = 0;
    __syncthreads();
    float *next = &rows[y][x];
    out[y * 8 + x] = rows[y][x] + next[1] + rows[y + 1][x];
}
