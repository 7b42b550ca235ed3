// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 6 access read variable m
extern "C" __global__ void k(const int *in, int *out, int n) {
    int m[3][4], rest[4] = {n, n, n, n};
    for (int i = 0; i < 12; ++i) m[i / 4][i % 4] = in[i];
    out[threadIdx.x] = m[3][0] + rest[n & 3] + m[n & 1][2];
}
