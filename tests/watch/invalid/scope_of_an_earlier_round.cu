// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 8 variable square
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, sum = 0;
    const int *before = in;
    for (int i = 0; i < n; i++) {
        int square = in[t + i] * in[t + i];
        sum += square - *before;
        before = &square;
    }
    out[t] = sum;
}
