// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 7 variable i
extern "C" __global__ void k(const int *in, int *out, int n) {
    int *last = nullptr;
    for (int i = 0; i < n; i++)
        if (in[i] >= 0) last = &i;
    out[threadIdx.x] = *last;
}
