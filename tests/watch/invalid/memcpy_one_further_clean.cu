// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[18], b[18];
    for (int i = 0; i < 9; ++i) a[i] = in[i];
    memcpy(a + 9, a, 9 * sizeof(int));
    memcpy(b, a, sizeof a); memcpy(a, b + 9, 9 * sizeof(int));
    out[threadIdx.x] = a[n] + b[n];
}
