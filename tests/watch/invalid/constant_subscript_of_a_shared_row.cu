// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access info line 5 variable tile
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int tile[4][8];
    if (threadIdx.x == 0) tile[0][8] = in[0];
    if (threadIdx.x > 8) tile[threadIdx.x / 8][threadIdx.x % 8] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = threadIdx.x > 8 ? tile[threadIdx.x / 8][threadIdx.x % 8] : n;
}
