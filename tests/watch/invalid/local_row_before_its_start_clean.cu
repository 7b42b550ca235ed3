// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 0]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int m[3][4] = {{in[threadIdx.x]}};
    out[threadIdx.x] = m[1][0 - n] + m[2][n];
}
