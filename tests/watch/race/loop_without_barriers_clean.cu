// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int s[64];
    int t = threadIdx.x, sum = 0;
    s[t] = in[t];
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        sum += s[63 - t];
        __syncthreads();
        s[t] = in[t] + i;
        __syncthreads();
    }
    out[t] = sum;
}
