// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    out[threadIdx.x] = out[threadIdx.x + 32] = n; __syncthreads();
    if (threadIdx.x == 0)
        memcpy(out + n, out, n * sizeof(int)); memcpy(&n, &n, sizeof n);
}
