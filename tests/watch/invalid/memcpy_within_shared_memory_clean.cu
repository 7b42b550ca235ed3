// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int s[64];
    s[threadIdx.x] = in[threadIdx.x];
    s[threadIdx.x + 32] = 0;
    __syncthreads();
    if (threadIdx.x == 0) memcpy(s + n + 27, s, 32 * sizeof(int));
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}
