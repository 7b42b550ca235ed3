// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access info line 8 variable tile
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int tile[2][32];
    tile[0][threadIdx.x] = in[threadIdx.x];
    tile[1][threadIdx.x] = n;
    __syncthreads();
    out[threadIdx.x] = tile[0][32] + tile[0][threadIdx.x];
}
