// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"]]}
// expect: invalid-access error line 8 variable a
extern "C" __global__ void k(const int *in, int *out) {
    int a[4] = {1, 2, 3, 4};
    int t = threadIdx.x;
    int i = in[t] >= 0 ? -1 : 0;

    out[t] = a[i];
}
