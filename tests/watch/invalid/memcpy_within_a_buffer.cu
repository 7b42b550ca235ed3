// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 6
extern "C" __global__ void k(const int *in, int *out, int n) {
    out[threadIdx.x] = out[threadIdx.x + 32] = n; __syncthreads();
    if (threadIdx.x == 0)
        memcpy(out + 1, out, n * sizeof(int));
}
