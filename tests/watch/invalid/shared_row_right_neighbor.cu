// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 8, 1], "args": [["float32", 144], ["float32", 128, "out"]]}
// expect: invalid-access info line 9 variable tile[...]
extern "C" __global__ void k(const float *in, float *out) {
    __shared__ float tile[9][16];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 16 + x];
    if (y == 0) tile[8][x] = in[128 + x];
    __syncthreads();
    out[y * 16 + x] = tile[y][x] + tile[y][x + 1];
}
