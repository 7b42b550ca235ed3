// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
    __shared__ int m;
    int t = threadIdx.x;
    if (t == 0) m = 31;
    __syncthreads();
    bool larger = in[t] + t > m;
    __syncthreads();
    if (larger)
        atomicMax(&m, t);
    __syncthreads();
    out[t] = m;
}
