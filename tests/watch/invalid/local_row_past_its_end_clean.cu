// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 3]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int m[3][4] = {};
    for (int r = 0; r < 2; ++r)
        for (int c = 0; c <= n; ++c) m[r][c] = in[threadIdx.x];
    out[threadIdx.x] = m[1][1] + m[2][0];
}
