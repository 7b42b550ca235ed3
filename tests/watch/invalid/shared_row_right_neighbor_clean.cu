// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 8, 1], "args": [["float32", 144], ["float32", 128, "out"]]}
// expect: clean
extern "C" __global__ void k(const float *in, float *out) {
    __shared__ float tile[8][17];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y][x] = in[y * 16 + x];
    if (x == 0) tile[y][16] = in[y * 16 + 16];
    __syncthreads();
    out[y * 16 + x] = tile[y][x] + tile[y][x + 1];
}
