// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [16, 8, 1], "args": [["int32", 128], ["int32", 128, "out"]]}
// expect: invalid-access info line 10 variable tile[...]
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int tile[9][16];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y + 1][x] = in[y * 16 + x];
    if (y == 0) tile[0][x] = 0;
    __syncthreads();
    int near =
        tile[y + 1][x - 1];
    out[y * 16 + x] = near;
}
