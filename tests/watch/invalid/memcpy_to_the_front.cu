// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 6
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[12];
    for (int i = 0; i < 12; ++i) a[i] = in[i];
    memcpy(a, &a[n], (12 - n) * sizeof(int));
    out[threadIdx.x] = a[n];
}
