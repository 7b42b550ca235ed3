// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 0]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[5] = {5, 6, 7, 8, 9};
    memcpy(a, b, sizeof a);
    out[threadIdx.x] = a[in[threadIdx.x] & 3] + b[n];
}
