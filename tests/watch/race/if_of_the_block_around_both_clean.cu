// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        s[t] = in[t];
        __syncthreads();
        out[t] = s[63 - t];
    }
}
