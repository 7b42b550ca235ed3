// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 6 variable a
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4], b[4];
    for (int i = 0; i < 4; ++i) a[i] = b[i] = n + i;
    *(a + 4) = in[threadIdx.x];
    out[threadIdx.x] = a[n & 3] + b[0];
}
