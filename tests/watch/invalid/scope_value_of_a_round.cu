// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 13 variable square
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, sum = 0;
    const int *kept = in;
    for (int i = 0; i < n; i++) {
        int square = in[t + i] * in[t + i];
        if (square < 0) break;
        if (i == 1) kept = &square;
        if (square > 1000) continue;
        sum += i;
    }
    out[t] = sum + *kept;
}
