// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int64", 32, "out"], 5]}
// expect: uninitialized-read error line 7 variable pair
extern "C" __global__ void k(const int *in, long long *out, int n) {
    unsigned long long pair[2];
    pair[0] = in[threadIdx.x];
    *(unsigned *)&pair[1] = n;
    out[threadIdx.x] = pair[1];
}
