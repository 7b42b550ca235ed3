// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int64", 32, "out"], 5]}
// expect: uninitialized-read error line 6 variable v
extern "C" __global__ void k(const int *in, long long *out, int n) {
    long long v;
    *(int *)&v = in[threadIdx.x];
    out[threadIdx.x] = v;
}
