// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: race error line 12 variable data
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int n, data[32];
    if (!threadIdx.x) n = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        data[threadIdx.x - 32] = in[threadIdx.x];
        atomicAdd(&n, 1);
    } else {
        while (*(volatile int *)&n < 32) {}
        out[threadIdx.x] = data[31 - threadIdx.x];
    }
}
