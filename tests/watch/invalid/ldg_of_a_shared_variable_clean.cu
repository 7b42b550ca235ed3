// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ int s[32];
    s[threadIdx.x] = __ldg(&in[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = s[31 - threadIdx.x];
}
