// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const float *in, int *out, int n) {
    int i = threadIdx.x;
    const char *form = n > 5 ? "%d %d\n" : "%d\n";
    if (i == 0) printf(form, n);
    out[i] = n;
}
