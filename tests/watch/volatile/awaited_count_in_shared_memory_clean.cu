// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int n;
    __shared__ volatile int go;
    if (!threadIdx.x) n = go = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        __nanosleep(500);
        atomicAdd(&n, 1);
    } else {
        while (*(volatile int *)&n < 32) {}
        if (!threadIdx.x) go = 1;
    }
    if (threadIdx.x == 40) while (!go) {}
    out[threadIdx.x] = in[threadIdx.x];
}
