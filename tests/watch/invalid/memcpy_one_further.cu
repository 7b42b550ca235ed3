// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 6
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[9];
    for (int i = 0; i < 9; ++i) a[i] = in[i];
    memcpy(a + 1, a, 8 * sizeof(int));
    out[threadIdx.x] = a[n];
}
